"""Stores keep the pages, the log and the counts of the service. Every store implements `interface`."""
