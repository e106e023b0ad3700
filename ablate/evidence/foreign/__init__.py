"""Read results of runs that ablate did not train, such as a CSV file or W&B runs.

Each module except `table` and a few helpers reads one format and returns a `Table`.
"""
