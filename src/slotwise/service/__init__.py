"""The online service: it recommends displays over HTTP, learns from clicks, and loses no event that it acknowledged."""
