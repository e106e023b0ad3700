"""Probes about cost."""
