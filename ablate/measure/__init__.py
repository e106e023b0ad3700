"""Measures of the tested model, in addition to its scores."""
