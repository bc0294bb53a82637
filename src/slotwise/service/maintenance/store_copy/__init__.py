"""Copy a store from SQLite to PostgreSQL, or back."""
