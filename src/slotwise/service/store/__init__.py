"""Where the service keeps its pages, its log and its counts: one small interface, one file for each store."""
