"""Read text, learn vocabularies, and make batches of token ids.

Every vocabulary begins with the ids PAD, BOS, EOS and UNK.
"""

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
