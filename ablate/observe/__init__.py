"""Observe a model in training: gradient norms by layer, attention by head, and pictures."""
