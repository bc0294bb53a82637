"""The HTTP interface: one file per resource, with its routes as data."""
