"""Click logs of any size: read, validated and counted into clicks and skips per query, item and position."""
