"""The online service: recommends displays over HTTP, learns from clicks, loses nothing that it acknowledged."""
