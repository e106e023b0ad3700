"""Observe a model in training."""
