"""The ledger: every claim of the documents with its verdicts."""
