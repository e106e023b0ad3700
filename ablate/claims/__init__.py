"""The ledger: claims that documents about Transformers make, with components that only their
experiments use.
"""
