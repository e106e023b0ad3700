"""Judge runs that ablate did not train: comparisons, plans and campaigns."""
