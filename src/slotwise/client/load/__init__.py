"""The load generator: simulated visitors of a running service."""
