"""The splits of the built-in corpus."""

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from zlib import crc32

from ablate.data.pairs import Corpus, Pairs
from ablate.data.toy import mirel, sodak
from ablate.data.toy.speaker import Habits, Speaker
from ablate.data.toy.text import text
from ablate.errors import UserError

# one sentence of ten is never trained on, whatever the seed and the sizes
SHARES = {"validation": {0}, "test": {1}, "train": set(range(2, 10))}


class Toy(Corpus):
    def __init__(
        self,
        *,
        seed: int,
        n_train: int,
        n_validation: int,
        n_test: int,
        n_test_long: int,
        max_words: int,
    ):
        self.seed = seed
        self.sizes = dict(
            train=n_train, validation=n_validation, test=n_test, test_long=n_test_long
        )
        self.max_words = max_words

    languages = ("qmi", "qso")
    splits = ()

    def fingerprint(self):
        return ""

    def read(self, split):
        pairs = islice(self.stream(split), self.sizes[split])
        return Pairs(*map(list, zip(*pairs)))

    def stream(self, split):
        h = (
            Habits(depth=4, relative=0.4, content=0.3, second_clause=0.5)
            if split == "test_long"
            else Habits()
        )
        sp = Speaker(h, Random(f"{self.seed}/{split}"))
        seen = set()
        while True:
            m = sp.sentence()
            s, t = text(mirel.sentence(m)), text(sodak.sentence(m))
            if s in seen:
                continue
            seen.add(s)
            a, b = s.count(" ") + 1, t.count(" ") + 1
            if split == "test_long":
                if self.max_words < min(a, b) and max(a, b) <= 2 * self.max_words:
                    yield s, t
            elif max(a, b) <= self.max_words and crc32(s.encode()) % 10 in SHARES[split]:
                yield s, t
