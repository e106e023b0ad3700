"""From evidence to verdicts: claims, kinds, decisions. Only `wording` turns them into sentences."""
