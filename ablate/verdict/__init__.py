"""Derive verdicts from evidence: claims, kinds and decisions as data; only `wording`
writes sentences.
"""
