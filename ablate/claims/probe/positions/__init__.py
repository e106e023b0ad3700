"""Probes (measurements of untrained models) about position encodings."""
