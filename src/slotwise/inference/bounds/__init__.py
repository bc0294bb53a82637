"""Lower bounds of the regret, and the programs that compute them."""
