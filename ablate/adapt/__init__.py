"""Adaptation: which weights are trained, and which are added."""
