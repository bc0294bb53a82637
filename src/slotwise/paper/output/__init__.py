"""What a reproduction writes: figures, tables, the report and the exported data."""
