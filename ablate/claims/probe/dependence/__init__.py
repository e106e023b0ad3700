"""Probes about dependence."""
