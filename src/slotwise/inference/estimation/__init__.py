"""theta and kappa estimated from counts, with standard errors."""
