"""Compute intervals, p-values and power from arrays of numbers, with numpy and scipy only."""
