"""Ensembles: posterior draws of each page, how the background makes them, and how they choose displays."""
