"""Probes about layers."""
