"""From a source to token ids."""
