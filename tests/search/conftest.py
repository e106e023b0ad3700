"""A model whose every probability can be looked up, so that a search can be checked by hand."""

import itertools
import math

import pytest
import torch

from ablate.data import BOS, EOS, PAD, UNK


class TableState:
    def __init__(self, prefixes, beams):
        self.prefixes = prefixes  # one tuple (source, tokens so far) per row
        self.beams = beams

    def reorder(self, rows):
        picked = [self.prefixes[row] for row in rows.tolist()]
        # a row may only take over from a row of its own sentence
        assert [p[0] for p in picked] == [p[0] for p in self.prefixes]
        self.prefixes = picked

    def keep(self, sentences):
        starts = [sentence * self.beams for sentence in sentences.tolist()]
        self.prefixes = [p for start in starts for p in self.prefixes[start : start + self.beams]]


class TableModel:
    """Logits that are a fixed random function of the source and the whole prefix.

    PAD and BOS are always the likeliest tokens by far.
    """

    def __init__(self, vocab=6, eos_bonus=0.0):
        self.vocab = vocab
        self.eos_bonus = eos_bonus
        self.steps = 0
        self.rows = 0

    def logits(self, source, prefix):
        generator = torch.Generator().manual_seed(hash((source, prefix)) % 2**31)
        row = 2 * torch.randn(self.vocab, generator=generator, dtype=torch.float64)
        row[[PAD, BOS]] += 5
        row[EOS] += self.eos_bonus
        return row

    def start(self, src, beams):
        sources = [tuple(i for i in row if i != PAD) for row in src.tolist()]
        return TableState([(source, ()) for source in sources for _ in range(beams)], beams)

    def head(self, states):
        return states

    def step(self, tokens, state):
        self.steps += 1
        self.rows += len(tokens)
        state.prefixes = [
            (source, (*prefix, token))
            for (source, prefix), token in zip(state.prefixes, tokens.tolist(), strict=True)
        ]
        return torch.stack([self.logits(*row) for row in state.prefixes])

    def log_p(self, source, ids):
        """Log-probability of a complete translation, its EOS counted."""
        prefix, total = (BOS,), 0.0
        for token in (*ids, EOS):
            total += self.logits(source, prefix).log_softmax(-1)[token].item()
            prefix = (*prefix, token)
        return total

    def best(self, source, limit, alpha):
        """Return the argmax over every translation of at most `limit` tokens."""
        every = (
            list(ids)
            for length in range(limit + 1)
            for ids in itertools.product(range(UNK, self.vocab), repeat=length)
        )
        return max(
            every,
            key=lambda ids: self.log_p(source, ids) / math.pow((5 + len(ids) + 1) / 6, alpha),
        )


@pytest.fixture
def table_model():
    return TableModel


def sources(*rows):
    width = max(map(len, rows))
    return torch.tensor([[*row, EOS] + [PAD] * (width - len(row)) for row in rows])


@pytest.fixture
def batch():
    return sources


@pytest.fixture
def twelve(batch):
    """Twelve sources of 1 to 6 tokens."""
    rows = [[4 + (3 * i + j) % 7 for j in range(1 + i % 6)] for i in range(12)]
    return rows, batch(*rows)
