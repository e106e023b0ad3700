"""Measures of single experiments: what a run measures of the model that it tests."""
