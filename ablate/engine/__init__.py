"""Where the workers of a sweep run: here, under Ray, under Slurm."""
