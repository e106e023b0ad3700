from functools import partial

import numpy as np
import pytest
import torch

from ablate.data import BOS, EOS, PAD
from ablate.data.batching import (
    Batch,
    Batches,
    Examples,
    Rank,
    Sizes,
    TrainingLoader,
    training_batches,
)
from ablate.data.tokenizer import TokenIds
from ablate.task.translation import Translation

SRC = [[5, 6, 7], [8], [9, 10, 11, 12, 13]]
TGT = [[20], [21, 22, 23], [24, 25]]


@pytest.fixture
def store(tmp_path):
    def make(name: str, lines: list[list[int]]) -> TokenIds:
        ended = [[*line, EOS] for line in lines]
        np.array(sum(ended, []), np.uint16).tofile(tmp_path / f"{name}.ids")
        offsets = np.cumsum([0, *map(len, ended)], dtype=np.int64)
        offsets.tofile(tmp_path / f"{name}.offsets")
        np.bincount(sum(ended, [])).astype(np.int64).tofile(tmp_path / f"{name}.counts")
        return TokenIds(tmp_path / name, "uint16")

    return make


def examples(store, src, tgt, max_length: int) -> Examples:
    return Examples(
        store("src", src),
        store("tgt", tgt),
        max_length=max_length,
        columns=0,
        collate=Translation().batch,
        seed=1,
    )


def fetch(store, rows: list[int], max_length: int = 99) -> Batch:
    return examples(store, SRC, TGT, max_length)[np.array(rows, dtype=np.int64)]


def test_a_batch(store):
    batch = fetch(store, [2, 0])
    assert batch.inputs.src.tolist() == [[9, 10, 11, 12, 13, EOS], [5, 6, 7, EOS, PAD, PAD]]
    assert batch.inputs.tgt_in.tolist() == [[BOS, 24, 25], [BOS, 20, PAD]]
    assert batch.targets.tolist() == [[24, 25, EOS], [20, EOS, PAD]]
    assert batch.lines.tolist() == [2, 0]
    assert {part.dtype for part in (*batch.inputs, batch.targets, batch.lines)} == {torch.int64}


def test_long_sentences_are_cut_and_still_end_in_eos(store):
    batch = fetch(store, [0, 1, 2], max_length=3)
    assert batch.inputs.src.tolist() == [[5, 6, EOS], [8, EOS, PAD], [9, 10, EOS]]
    assert batch.inputs.tgt_in.tolist() == [[BOS, 20, PAD], [BOS, 21, 22], [BOS, 24, 25]]
    assert batch.targets.tolist() == [[20, EOS, PAD], [21, 22, EOS], [24, 25, EOS]]


def test_an_empty_batch(store):
    batch = fetch(store, [])
    assert len(batch.lines) == 0
    assert batch.inputs.src.shape == batch.inputs.tgt_in.shape == batch.targets.shape == (0, 1)


@pytest.fixture
def loader(store):
    lines = [[4 + i] * (1 + i % 5) for i in range(60)]
    length = np.array([len(line) + 1 for line in lines])
    sizes = Sizes(np.arange(60), length, length)

    def make() -> TrainingLoader:
        pairs = examples(store, lines, lines, 99)
        form = partial(training_batches, sizes, 24, True, 7)
        return TrainingLoader(pairs, Batches(form, Rank(0, 1), evaluates=False))

    return make


def rows(batches) -> list[list[int]]:
    return [batch.lines.tolist() for batch in batches]


def epoch(loader: TrainingLoader, number: int) -> list[list[int]]:
    loader.sampler.set_epoch(number)
    return rows(loader)


def test_goes_on_where_it_was_stopped(loader):
    straight = loader()
    expected = [epoch(straight, number) for number in range(3)]
    stopped = loader()
    assert epoch(stopped, 0) == expected[0]
    stopped.sampler.set_epoch(1)
    running = iter(stopped)
    assert rows(next(running) for _ in range(4)) == expected[1][:4]
    state = stopped.state_dict()
    assert state == {"epoch": 1, "position": 4}

    resumed = loader()
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    assert len(resumed) == len(expected[1])  # of the whole epoch: Lightning counts from there
    assert epoch(resumed, 1) == expected[1][4:]
    assert epoch(resumed, 2) == expected[2]
