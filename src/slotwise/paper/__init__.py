"""The reproduction of the paper: its settings, experiments and claims as data, and the code that reproduces them."""
