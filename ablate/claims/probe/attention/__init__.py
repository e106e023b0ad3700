"""Probes (measurements of untrained models) about attention."""
