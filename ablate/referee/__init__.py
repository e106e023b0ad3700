"""Turn a table of runs that other programs made into evidence, which is judged like a sweep."""
