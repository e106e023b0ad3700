"""The learning rate by optimiser step."""
