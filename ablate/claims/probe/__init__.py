"""Probes of single experiments, by topic."""
