"""Estimates of theta and kappa from counts, with standard errors."""
