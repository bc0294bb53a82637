"""The demo shop at `/demo`: a page whose visitors are simulated by the process that started the service."""
