"""The posterior of a PBM whose thetas scatter around a regression on features of the items."""
