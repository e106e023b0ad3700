import math
from collections import Counter
from types import SimpleNamespace

import pytest

from ablate.config.schema import Batching
from ablate.data import EOS, PAD
from ablate.data.module import Counts, TextData
from ablate.data.scheme import Word
from ablate.task.texts import MaskedLanguageModel
from ablate.task.translation import Translation

PAIRS = [(f"a b{i}", f"A B{i} C" + " D" * (i % 4)) for i in range(40)]


@pytest.fixture
def make(tmp_path, write, parallel):
    """Data of words: 40 training, 6 validation and 4 test pairs, all known but the last."""

    def build(scheme=None, pairs=PAIRS, seed=1, task=None, **batch) -> TextData:
        given = {
            name: write(tmp_path / name, part)
            for name, part in (("train", pairs), ("val", PAIRS[:6]), ("test", PAIRS[-3:] + [LONG]))
        }
        keys = dict(tokens=64, eval_tokens=64, max_length=12) | batch
        task = task or Translation()
        return TextData(
            corpus=parallel(given["train"], validation=given["val"], test=given["test"]),
            scheme=scheme or Word(vocab_size=None, joint=False),
            collate=task.batch,
            scored_targets=task.scored_targets,
            batch=Batching(**keys),
            cache_dir=str(tmp_path / "cache"),
            seed=seed,
        )

    return build


LONG = ("a " * 20 + "new", "A " * 30 + "NEW.")


@pytest.fixture
def prepared(make):
    def build(*args, **keys) -> TextData:
        data = make(*args, **keys)
        data.prepare()
        return data

    return build


def test_vocabularies_are_learned_from_train_only(prepared):
    tokenizer = prepared().tokenizers.tgt
    (ids,) = tokenizer.encode_batch(["A NEW"])
    assert ids[1] == 3 and "NEW" not in "".join(tokenizer.token_labels(list(range(tokenizer.size))))


def test_counts_when_long_pairs_are_skipped(prepared):
    data = prepared(max_length=5)  # A B C and EOS, and one D
    assert data.counts == {
        "train": Counts(pairs=40, skipped=20, truncated=0),
        "validation": Counts(pairs=6, skipped=0, truncated=2),
        "test": Counts(pairs=4, skipped=0, truncated=3),
    }
    used = sorted(row for batch in data.train_dataloader() for row in batch.lines.tolist())
    assert used == [i for i in range(40) if i % 4 < 2]
    whole = prepared(max_length=5, too_long="truncate")
    assert whole.counts["train"] == Counts(pairs=40, skipped=0, truncated=20)
    assert max(batch.targets.size(1) for batch in whole.train_dataloader()) == 5


@pytest.mark.parametrize("too_long", ["skip", "truncate"])
def test_evaluation_keeps_every_sentence_and_its_whole_reference(prepared, too_long):
    data = prepared(max_length=5, too_long=too_long)
    for loader, count in ((data.val_dataloader(), 6), (data.evaluation_loader("test"), 4)):
        batches = list(loader)
        assert sorted(row for batch in batches for row in batch.lines.tolist()) == list(
            range(count)
        )
        assert max(batch.inputs.src.size(1) for batch in batches) <= 5
    assert data.references("test")[-1] == LONG[1]


def test_only_the_first_sentences_are_scored_if_a_run_is_short(prepared):
    data = prepared(scored_tokens=9)  # A B0 C EOS, then a sentence of 5 tokens
    for loader in (data.val_dataloader(), data.evaluation_loader("validation")):
        assert sorted(row for batch in loader for row in batch.lines.tolist()) == [0, 1]
    assert data.scored_lines("validation") == 2
    assert sum(len(batch.lines) for batch in data.train_dataloader()) == 40
    whole = prepared(scored_tokens=1000)
    assert sum(len(batch.lines) for batch in whole.val_dataloader()) == 6


def test_unigram_nll(prepared):
    data = prepared(max_length=6)
    words = [tgt.split() + ["EOS"] for _, tgt in PAIRS]
    seen = Counter(word for line in words if len(line) <= 6 for word in line)
    total = sum(seen.values()) + data.tokenizers.tgt.size
    met = [word for line in words[:6] for word in (line if len(line) <= 6 else [*line[:5], "EOS"])]
    expected = -sum(math.log((seen[word] + 1) / total) for word in met) / len(met)
    assert math.isclose(data.unigram_nll, expected, rel_tol=1e-12)


class LastWord(Translation):
    """A user's task that scores the last word of each target alone."""

    scores_all = False

    def batch(self, *lines):
        """Return a batch with PAD in place of all other targets."""
        batch = super().batch(*lines)
        last = batch.targets.roll(-1, 1) == EOS
        return batch._replace(targets=batch.targets * last)


def tokens_of(ids) -> list[int]:
    return [token for token in ids.flatten().tolist() if token not in (PAD, EOS)]


@pytest.mark.parametrize("batches", [1.0, 2])
@pytest.mark.parametrize(
    "task", [MaskedLanguageModel(share=0.3, masked=1.0, random=0.0), LastWord()]
)
def test_the_unigram_model_counts_what_the_task_scores(prepared, task, batches):
    data = prepared(task=task, eval_tokens=20)
    data.trainer = SimpleNamespace(
        limit_val_batches=batches, overfit_batches=0, global_rank=0, world_size=1
    )
    lines = [tgt.split() for _, tgt in PAIRS]
    words = [word for line in lines for word in (line[-1:] if isinstance(task, LastWord) else line)]
    vocabulary = data.tokenizers.tgt
    seen = Counter(token for (token,) in vocabulary.encode_batch(words))
    total = len(words) + vocabulary.size
    scored = list(data.val_dataloader())[: None if batches == 1.0 else batches]
    met = [token for batch in scored for token in tokens_of(batch.targets)]
    expected = -sum(math.log((seen[token] + 1) / total) for token in met) / len(met)
    assert math.isclose(data.unigram_nll, expected, rel_tol=1e-12)


def rows(loader) -> list[list[int]]:
    return [batch.lines.tolist() for batch in loader]


def test_rank_and_world_size_come_from_the_trainer(prepared):
    data = prepared(tokens=30, eval_tokens=40)
    alone, test = rows(data.train_dataloader()), rows(data.evaluation_loader("test"))
    shares, test_shares = [], []
    for rank in range(2):
        data.trainer = SimpleNamespace(global_rank=rank, world_size=2, overfit_batches=0)
        shares.append(rows(data.train_dataloader()))
        test_shares.append(rows(data.evaluation_loader("test")))
    dealt = [batch for turn in zip(*shares, strict=True) for batch in turn]
    assert dealt == alone[: len(alone) // 2 * 2]
    assert [batch for turn in zip(*test_shares, strict=True) for batch in turn][: len(test)] == test


def test_testing_alone_may_go_without_buckets(prepared):
    bucketed = prepared(eval_tokens=24)
    mixed = prepared(eval_tokens=24, test_bucket=False)
    assert rows(mixed.val_dataloader()) == rows(bucketed.val_dataloader())
    assert rows(mixed.train_dataloader()) == rows(bucketed.train_dataloader())
    alike, random = (rows(data.evaluation_loader("train")) for data in (bucketed, mixed))
    assert alike != random
    assert sorted(sum(alike, [])) == sorted(sum(random, [])) == list(range(40))
    other_seed = prepared(eval_tokens=24, test_bucket=False, seed=2)
    assert rows(other_seed.evaluation_loader("train")) == random


def test_testing_alone_may_add_padding_to_sources(prepared):
    plain, padded = prepared(), prepared(test_padding=3)
    tests = (data.evaluation_loader("test") for data in (plain, padded))
    for batch, other in zip(*tests, strict=True):
        assert batch.lines.equal(other.lines) and batch.targets.equal(other.targets)
        assert batch.inputs.src.equal(other.inputs.src[:, :-3])
        assert (other.inputs.src[:, -3:] == PAD).all()
    for batch, other in zip(plain.val_dataloader(), padded.val_dataloader(), strict=True):
        assert batch.inputs.src.equal(other.inputs.src)
    assert padded.first_lines("test", 2).inputs.src.size(1) == 3
