"""Synthetic corpora of single experiments, with chance level and attainable bound."""
