"""Playing policies against click models."""
