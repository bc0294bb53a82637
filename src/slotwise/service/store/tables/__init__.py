"""The operations on tables that all stores with SQL share."""
