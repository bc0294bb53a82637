"""Work on a whole store: backups, verification, fading, and the removal of old data."""
