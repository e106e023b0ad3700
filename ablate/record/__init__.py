"""Read and write the folder in which a run stores its results, with its identity, seals and
locks.
"""
