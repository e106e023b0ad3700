"""Benchmarks of speed and memory, against hand-written loops and other toolkits."""
