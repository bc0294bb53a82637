"""The online service. It recommends displays over HTTP, learns from clicks, and loses no acknowledged event."""
