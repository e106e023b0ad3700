"""Read runs that other programs made: tables, logs of TensorBoard and Lightning, W&B projects.

Every reader returns a data frame with a run (or a step of a run) in each row.
"""
