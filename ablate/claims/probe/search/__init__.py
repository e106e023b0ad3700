"""Probes (measurements of untrained models) about search algorithms."""
