"""What acts only in testing never trains again."""

from pathlib import Path

import pytest
import torch

from ablate.record.files import digest, read_sealed, seal, write_json
from ablate.record.identity import evaluation_parts, parts
from ablate.train.module import Training

TESTING = (
    "search=greedy",
    "search.size=2",
    "test_splits=[test,test_long]",
    "batch.test_padding=3",
    "measure=heads",
    "metric=exact_match",
    "weights=initial",
)


@pytest.fixture
def identities(compose):
    def both(*overrides):
        config = compose("logger=none", *overrides)
        training = digest(parts(config, "text"))
        return training, digest(evaluation_parts(config, training))

    return both


@pytest.mark.parametrize("override", [*TESTING, "batch.test_bucket=false"])
def test_a_key_of_testing_makes_another_evaluation_of_the_same_training(identities, override):
    training, evaluation = identities(override)
    assert training == identities()[0]
    assert evaluation != identities()[1]


def test_the_modules_of_a_search_count_where_it_runs(compose):
    config = compose("logger=none", "search=beam")
    assert "ablate.search.beam" not in parts(config, "text")["modules"]
    assert "ablate.search" in parts(config, "text")["modules"]
    assert "ablate.search.beam" in evaluation_parts(config, "training")["modules"]


@pytest.fixture
def go(small, compose):
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    return lambda *overrides: run(resolve(compose(*small, *overrides)))


def test_another_search_tests_the_kept_weights(go, kept, monkeypatch):
    monkeypatch.setattr(Training, "training_step", None)  # would raise
    second = go("search=greedy", "test_splits=[test,test_long]")
    assert (second["trained"], second["reused"]) == (False, False)
    assert second["training"] == kept["training"]
    assert second["identity"] != kept["identity"]
    assert second["metrics"]["val/nll"] == kept["metrics"]["val/nll"]
    assert "test_long/bleu" in second["metrics"]
    assert second["ended"] > kept["ended"]
    assert go()["reused"]
    assert go("search=greedy", "test_splits=[test,test_long]")["reused"]


def test_an_evaluation_of_weights_that_are_gone_is_made_again(go, kept):
    path = Path(kept["evaluation"], "result.json")
    write_json(path, seal({**read_sealed(path), "weights": "of an earlier training"}))
    again = go()
    assert (again["reused"], again["trained"]) == (False, False)


def test_a_refused_evaluation_leaves_the_training_as_it_was(go, kept, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(Training, "test_step", broken)
        go("search=greedy")
    assert go()["reused"]
    assert not go("search=greedy")["trained"]
    assert go("search=greedy")["training"] == kept["training"]


def broken(*args):
    raise RuntimeError("no luck")


def test_another_set_of_seeds_shares_nothing(go, done):
    first, second = done[0], go("replicate=1")
    first_weights, second_weights = (
        torch.load(Path(result["folder"], "weights.pt"), weights_only=True)
        for result in (first, second)
    )
    name = "embedding.tgt.weight"
    assert not torch.equal(first_weights[name], second_weights[name])
