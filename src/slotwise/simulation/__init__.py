"""Simulations of policies on click models."""
