"""What counts say about theta and kappa."""
