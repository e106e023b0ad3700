"""Write verdicts as sentences. Nothing else reads or writes a sentence about a verdict."""
