"""Probes about attention."""
