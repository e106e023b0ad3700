"""Measure on simulated sweeps how often the code that judges sweeps reaches a wrong verdict."""
