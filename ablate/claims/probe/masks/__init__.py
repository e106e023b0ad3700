"""Probes (measurements of untrained models) about causal masks and padding masks."""
