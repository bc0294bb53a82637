"""Bodies of requests and responses, also those that are too large for the memory."""
