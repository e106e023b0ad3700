"""Cells of an experiment: planned, checked, dealt to processes, ended in a verdict."""
