"""Derive the verdicts of a study from its evidence, as data.

The package ablate.words writes the sentences.
"""
