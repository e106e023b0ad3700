"""Write the ledger and all experiments as a folder of pages that open from disk,
without a network.
"""
