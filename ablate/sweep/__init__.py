"""Run the cells of an experiment: plan, check, distribute to processes, and judge."""
