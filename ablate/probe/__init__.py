"""Measurements of untrained models for any experiment; ablate.claims.probe has those of single
experiments.
"""
