"""Calibration and benchmarks: for maintainers, not part of the package that people install."""
