"""Engines: where the workers of a sweep run (locally, with Ray, with Slurm)."""
