"""Probes about search."""
