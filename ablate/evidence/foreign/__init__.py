"""Read runs that ablate did not train; each file has a reader of one format, which
returns a `Table`.
"""
