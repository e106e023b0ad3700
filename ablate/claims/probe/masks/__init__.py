"""Probes about masks."""
