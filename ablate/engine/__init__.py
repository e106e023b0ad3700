"""Engines: where the runs of a sweep are executed (locally, with Ray, with Slurm)."""
