"""Perform a run, from config to record."""
