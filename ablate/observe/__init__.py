"""Observe a model: gradients by layer, attention by head, pictures."""
