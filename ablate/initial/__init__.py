"""Options for the weights from which training starts."""
