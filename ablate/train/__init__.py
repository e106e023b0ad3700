"""One run, from config to record."""
