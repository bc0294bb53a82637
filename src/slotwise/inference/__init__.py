"""Inference of theta and kappa from counts: estimation, sampling, regret bounds."""
