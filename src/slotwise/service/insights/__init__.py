"""What a page has learnt, for people: estimates with intervals, the best displays, and what learning earns."""
