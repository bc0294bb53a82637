"""Clients of a running service: the commands that define pages, the load generator, and the demo."""
