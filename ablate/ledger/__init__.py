"""The ledger: all claims of the documents with their verdicts."""
