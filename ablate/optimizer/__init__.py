"""Optimisers that torch does not provide in this form."""
