"""Judge runs that ablate did not train, from a table: comparisons and sample-size plans."""
