"""Optimisers that torch has not in this form."""
