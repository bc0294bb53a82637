"""Keys: what a caller may do, how often, and how keys change."""
