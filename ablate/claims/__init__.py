"""The catalogue: the claims of the documents, and components that only their experiments use."""
