"""The catalogue: what the documents claim, and what serves a single experiment about it."""
