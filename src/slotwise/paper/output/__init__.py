"""The output of a reproduction: figures, tables, the report and the exported data."""
