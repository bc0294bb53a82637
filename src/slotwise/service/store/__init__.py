"""Stores: where the service keeps pages, the log and counts. Every store implements `interface`."""
