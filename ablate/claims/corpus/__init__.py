"""Corpora of single experiments: pairs that a rule makes, with their chance level and bound."""
