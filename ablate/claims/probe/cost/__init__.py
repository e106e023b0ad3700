"""Probes (measurements of untrained models) about time, memory and number of operations."""
