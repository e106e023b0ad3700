"""Load and check the evidence of a study: its runs, its registration and its analysis log.

A study is a list of claims with the runs that test them. The evidence is sealed with digests, so
that edited files are detected.
"""
