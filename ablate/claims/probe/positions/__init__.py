"""Probes about positions."""
