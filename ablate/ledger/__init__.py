"""Read the ledger: the list of all claims that the documents make about models, with verdicts."""
