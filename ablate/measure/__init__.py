"""Measure properties of a tested model in addition to its scores."""
