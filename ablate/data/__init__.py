"""Read text, learn vocabularies, and make batches of token ids."""
