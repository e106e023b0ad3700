"""The connection to Weights & Biases: log runs during training, and the verdicts of a sweep."""
