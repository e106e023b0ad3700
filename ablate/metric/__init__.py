"""Metrics of a split, and the table of all metrics."""
