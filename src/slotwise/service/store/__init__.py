"""Stores: where the service keeps pages, log and counts. `interface` is what every store implements."""
