"""Write reports: a page with the verdicts of an experiment, its tables and its figures."""
