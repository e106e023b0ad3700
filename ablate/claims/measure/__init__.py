"""Measurements of trained models, each for one experiment."""
