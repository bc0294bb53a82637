"""Lower bounds on the regret, and the programs that compute them."""
