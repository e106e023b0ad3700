"""Search algorithms: from a source to token ids."""
