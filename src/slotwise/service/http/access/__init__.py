"""Access control: who may make a request."""
