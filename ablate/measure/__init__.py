"""What a run measures of the model that it tests, beside its scores."""
