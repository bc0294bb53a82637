"""The PostgreSQL store: one database that many nodes share."""
