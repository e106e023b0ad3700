"""Tasks: what a model reads, what it predicts, and how its predictions are scored."""
