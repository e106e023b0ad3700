"""Probes about numbers and code that documents print."""
