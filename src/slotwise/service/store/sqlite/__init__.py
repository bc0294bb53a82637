"""The SQLite store: one file that one process owns."""
