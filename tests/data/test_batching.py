import hashlib
from functools import partial

import numpy as np
import pytest

from ablate.data.batching import Batches, Rank, Sizes, evaluation_batches, training_batches

TOKENS = 128
EPOCHS = range(3)
ALONE = Rank(0, 1)


@pytest.fixture(scope="module")
def sizes() -> Sizes:
    random = np.random.default_rng(5)
    src = random.integers(2, 40, 400)
    tgt = np.clip(src + random.integers(-5, 20, 400), 2, 60)
    return Sizes(np.arange(400) * 2, src, tgt)  # every other line of the split


def sampler(sizes, tokens=TOKENS, bucket=True, seed=1, rank=ALONE) -> Batches:
    return Batches(partial(training_batches, sizes, tokens, bucket, seed), rank, evaluates=False)


def training(sizes, epoch=0, bucket=True, rank=ALONE, seed=1, tokens=TOKENS) -> list[list[int]]:
    batches = sampler(sizes, tokens, bucket, seed, rank)
    batches.set_epoch(epoch)
    assert len(batches) == len(list(batches))
    return [batch.tolist() for batch in batches]


def evaluation(sizes, rank=ALONE, tokens=TOKENS, bucket=True) -> list[list[int]]:
    batches = Batches(partial(evaluation_batches, sizes, tokens, bucket), rank, evaluates=True)
    assert len(batches) == len(list(batches))
    return [batch.tolist() for batch in batches]


def ranks(world_size: int) -> list[Rank]:
    return [Rank(index, world_size) for index in range(world_size)]


def largest(batches: list[list[int]], sizes: Sizes) -> int:
    width = dict(zip(sizes.rows.tolist(), sizes.width.tolist(), strict=True))
    return max(len(batch) * max(width[row] for row in batch) for batch in batches)


@pytest.mark.parametrize("bucket", [True, False])
@pytest.mark.parametrize("tokens", [61, 10**6])
def test_the_budget_is_never_exceeded_and_every_row_comes_once(sizes, bucket, tokens):
    for epoch in EPOCHS:
        batches = training(sizes, epoch, bucket, tokens=tokens)
        assert largest(batches, sizes) <= tokens
        assert sorted(sum(batches, [])) == sizes.rows.tolist()
    batches = evaluation(sizes, tokens=tokens, bucket=bucket)
    assert largest(batches, sizes) <= tokens
    assert sorted(sum(batches, [])) == sizes.rows.tolist()


def plain(sizes: Sizes, epoch: int, bucket: bool, seed: int = 1) -> list[list[int]]:
    """Training batches, formed the plain way."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(sizes.rows))
    if bucket:
        src, tgt = (side[order].astype(np.int64) for side in (sizes.src, sizes.tgt))
        width, more = np.maximum(src, tgt), tgt - src
        order = order[np.lexsort((np.where(width % 2 == 0, more, -more), width))]
    cut = [[]]
    for pair in order:
        if (len(cut[-1]) + 1) * max(sizes.width[[*cut[-1], pair]].tolist()) > TOKENS:
            cut.append([])
        cut[-1].append(pair)
    return [sizes.rows[cut[i]].tolist() for i in random.permutation(len(cut))]


@pytest.mark.parametrize("bucket", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_batches_are_those_of_the_plain_way(sizes, bucket, dtype):
    narrow = Sizes(sizes.rows.astype(np.uint16), sizes.src.astype(dtype), sizes.tgt.astype(dtype))
    for epoch in EPOCHS:
        assert training(narrow, epoch, bucket) == plain(sizes, epoch, bucket)


def test_the_batches_of_a_seed_never_change(sizes):
    batches = [*training(sizes), *training(sizes, 1, bucket=False), *evaluation(sizes)]
    digest = hashlib.sha256(repr(batches).encode()).hexdigest()
    assert digest.startswith("6480ac54e566c697")


@pytest.mark.parametrize("bucket", [True, False])
@pytest.mark.parametrize("world_size", [2, 8])
def test_training_is_dealt_to_ranks(sizes, bucket, world_size):
    alone = training(sizes, 0, bucket)
    shares = [training(sizes, 0, bucket, rank) for rank in ranks(world_size)]
    whole = len(alone) // world_size
    assert [len(share) for share in shares] == [whole] * world_size
    dealt = [batch for turn in zip(*shares, strict=True) for batch in turn]
    assert dealt == alone[: whole * world_size]


@pytest.mark.parametrize("bucket", [True, False])
@pytest.mark.parametrize("world_size", [2, 8])
def test_evaluation_batches_are_the_same_on_any_number_of_ranks(sizes, world_size, bucket):
    alone = evaluation(sizes, bucket=bucket)
    shares = [evaluation(sizes, rank, bucket=bucket) for rank in ranks(world_size)]
    assert len({len(share) for share in shares}) == 1
    dealt = [batch for turn in zip(*shares, strict=True) for batch in turn]
    assert dealt[: len(alone)] == alone
    assert dealt[len(alone) :] == [[]] * (-len(alone) % world_size)
