"""The HTTP interface: one file for each noun, every route described by data."""
