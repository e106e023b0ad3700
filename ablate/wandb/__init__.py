"""Everything that speaks to Weights & Biases."""
