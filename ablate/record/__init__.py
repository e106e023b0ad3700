"""Read and write the folder of a run: identity, files, seals, locks."""
