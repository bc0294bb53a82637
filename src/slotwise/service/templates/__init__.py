"""Templates: pages with the same layouts that share their kappas and the law of their thetas."""
