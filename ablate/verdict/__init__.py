"""Derive the verdicts of a study from its evidence, as data.

Only the subpackage `wording` writes sentences.
"""
