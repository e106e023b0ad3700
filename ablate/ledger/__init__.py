"""Read the ledger, that is, the list of all claims that some documents make about the Transformer,
with the verdicts of experiments on these claims.
"""
