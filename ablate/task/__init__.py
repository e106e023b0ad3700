"""What a model reads and predicts, and how that is measured."""
