"""What is measured on a split, and the one table of all metrics."""
