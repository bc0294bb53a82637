"""Whoever talks to a running service from outside: the commands that define pages, simulated visitors, the demo."""
