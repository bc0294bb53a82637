"""The dashboard: what every page has learnt and what it earns, for people. Its modules use the HTTP interface."""
