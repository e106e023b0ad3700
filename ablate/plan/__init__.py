"""Estimate the cost and the power of a sweep before it starts."""
