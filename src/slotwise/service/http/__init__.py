"""HTTP: the server, its connections, routing, validation and errors."""
