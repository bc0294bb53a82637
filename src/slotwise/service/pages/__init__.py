"""Pages in memory: their definition, their model and their insights."""
