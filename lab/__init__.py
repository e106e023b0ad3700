"""Calibration, benchmarks and other tools for maintainers; not part of the installed package."""
