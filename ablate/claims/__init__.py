"""The catalogue: the claims that the documents make, and what serves one of their experiments only."""
