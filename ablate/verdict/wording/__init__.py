"""Write verdicts in words."""
