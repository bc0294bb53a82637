"""Read and validate click logs of any size, and count clicks and skips per query, item and position."""
