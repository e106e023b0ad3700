"""Probes about documents."""
