"""Estimate many changes at once: every recipe takes a random level of every factor."""
