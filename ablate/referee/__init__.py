"""Judge runs that ablate did not train, from a table: comparisons, sample-size plans and
campaigns.
"""
