"""Probes (measurements of untrained models) that any experiment can use. Probes written for a
single experiment are in a catalogue.
"""
