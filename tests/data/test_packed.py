"""Contexts of a fixed length: each token once, in an order that seed and epoch decide."""

import numpy as np
import pytest

from ablate.config.schema import Batching
from ablate.data import EOS, PAD
from ablate.data.packed import PackedData, Permutation
from ablate.data.scheme import Byte
from ablate.task.texts import LanguageModel

TEXT = "\n\n".join("".join(chr(97 + (i * j) % 26) for j in range(i % 17)) for i in range(40))


@pytest.fixture
def make(tmp_path, given):
    def build(text=TEXT, validation="abc\n\ndefgh", *, seed=1, scheme=None, **batch):
        keys = dict(context=8, tokens=32, eval_tokens=16) | batch
        return PackedData(
            corpus=given(text, validation),
            scheme=scheme or Byte(joint=True),
            collate=LanguageModel(attention="context").batch,
            pack=LanguageModel(attention="context").pack,
            batch=Batching(**keys),
            cache_dir=str(tmp_path / "cache"),
            seed=seed,
        )

    return build


def stream(data, split):
    texts = data._corpus.read(split).tgt
    return [token for text in texts for token in (*(4 + b for b in text.encode()), EOS)]


@pytest.mark.parametrize("count", [1, 3, 17, 1000])
def test_an_order_has_every_number_once(count):
    orders = [Permutation(count, np.random.default_rng(seed))(np.arange(count)) for seed in (1, 2)]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(count))
    again = Permutation(count, np.random.default_rng(1))
    assert [again(np.array([place]))[0] for place in range(count)] == orders[0].tolist()
    if count == 1000:
        assert (orders[0] == orders[1]).sum() < 20 and (orders[0] == np.arange(count)).sum() < 20
        assert 300 < np.abs(np.diff(orders[0])).mean() < 370  # a third of them


@pytest.mark.parametrize("context", [1, 3, 8, 200])
def test_evaluation_predicts_every_token_once_from_the_one_before(make, context):
    data = make(context=context, tokens=2 * context, eval_tokens=2 * context)
    data.prepare()
    tokens = stream(data, "validation")
    batches = list(data.val_dataloader())
    targets, inputs = (
        np.concatenate([rows.numpy().ravel() for rows in side])
        for side in zip(*((batch.targets, batch.inputs.tokens) for batch in batches), strict=True)
    )
    assert targets[targets != PAD].tolist() == tokens
    assert inputs[targets != PAD].tolist() == [EOS, *tokens[:-1]]
    assert all(batch.targets.size(1) == context for batch in batches)


def test_only_the_first_contexts_are_scored_if_a_run_is_short(make):
    data = make(validation=TEXT, scored_tokens=20)
    data.prepare()
    for loader in (data.val_dataloader(), data.evaluation_loader("validation")):
        targets = np.concatenate([batch.targets.numpy().ravel() for batch in loader])
        assert targets.tolist() == stream(data, "validation")[:24]  # three contexts of 8
    assert sum(len(batch.lines) for batch in data.train_dataloader()) > 3


def test_training_contexts_do_not_overlap_and_move_from_epoch_to_epoch(make):
    data = make()
    data.prepare()
    tokens = stream(data, "train")
    loader, starts = data.train_dataloader(), []
    for epoch in range(3):
        loader.sampler.set_epoch(epoch)
        places = np.concatenate(list(loader.sampler))
        assert len(places) == len(tokens) // 8 // 4 * 4
        covered = (places[:, None] + np.arange(8)).ravel() % len(tokens)
        assert len(set(covered.tolist())) == len(covered)
        starts.append(sorted(places))
        rows = np.stack([batch.targets for batch in loader]).reshape(-1, 8)
        for row, place in zip(rows, places, strict=True):
            assert row.tolist() == [tokens[(place + i) % len(tokens)] for i in range(8)]
    assert starts[0] != starts[1] != starts[2]


def test_batches_follow_from_the_seed_and_go_on_in_the_middle(make):
    first, again, other = (list(make(seed=seed).train_dataloader().sampler) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    loader = make().train_dataloader()
    whole = [batch.targets.tolist() for batch in loader]
    for position in (1, len(whole) - 1):
        resumed = make().train_dataloader()
        resumed.load_state_dict({"epoch": 0, "position": position})
        assert [batch.targets.tolist() for batch in resumed] == whole[position:]


def test_the_unigram_model_counts_every_token_once(make):
    data = make()
    data.prepare()
    seen = np.bincount(stream(data, "train"), minlength=data.tokenizers.tgt.size) + 1.0
    met = np.log(seen / seen.sum())[stream(data, "validation")]
    assert data.unigram_nll == pytest.approx(-met.mean(), rel=1e-12)
