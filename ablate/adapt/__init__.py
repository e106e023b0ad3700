"""Adaptation of a model before training: choose the weights to train, or add weights."""
