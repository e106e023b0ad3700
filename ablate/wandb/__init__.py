"""The connection to Weights & Biases."""
