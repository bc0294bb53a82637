"""Click logs, small or huge: read, checked and counted into clicks and skips per query, item and position."""
