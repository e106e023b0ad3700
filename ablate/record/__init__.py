"""What a run leaves on disk: identity, files, seals, locks."""
