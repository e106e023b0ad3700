"""Cells of an experiment: planned, checked, assigned to processes, ended in a verdict."""
