"""Samplers of the posterior of theta and kappa."""
