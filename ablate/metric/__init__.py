"""Metrics of a split, such as BLEU, and a table that describes each metric."""
