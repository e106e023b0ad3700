"""Readers of runs that ablate did not train, one file per source: each returns a `Table`."""
