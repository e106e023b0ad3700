"""Every model with every task that it takes: trains, is killed, goes on, validates and tests."""

import math

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run

SYSTEMS = [
    ("decoder_only", "translation"),
    ("encoder_only", "masked_language_model"),
    pytest.param("decoder_only", "language_model", marks=pytest.mark.slow),
    pytest.param("rnn", "translation", marks=pytest.mark.slow),
    pytest.param("micro", "denoising", marks=pytest.mark.slow),
]
LIKELIHOOD = {"nll", "perplexity", "accuracy", "calibration_error"}
SCORES = {"translation": {"bleu", "nll"}}


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def go(small, compose, tmp_path):
    """Run a small system, without the settings that `lacks` begins."""

    def went(model, task, results, *overrides, lacks=()):
        lacks = (*lacks, *(("model.n_heads", "model.d_ff") if model == "rnn" else ()))
        sizes = [override for override in small if not override.startswith(lacks)]
        folder = f"paths.results={tmp_path / results}"
        chosen = (f"model={model}", f"task={task}", "search=greedy", "checkpoint.save_every=1")
        return run(resolve(compose(*sizes, *chosen, folder, *overrides)))

    return went


@pytest.mark.slow
@pytest.mark.parametrize(("model", "task"), SYSTEMS)
def test_a_system_trains_goes_on_after_a_kill_and_is_tested(go, monkeypatch, model, task):
    whole = go(model, task, "whole")
    real, steps = Training.training_step, []

    def dying(self, *args):
        steps.append(self.global_step)
        if len(steps) == 4:
            raise Killed
        return real(self, *args)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Training, "training_step", dying)
        go(model, task, "killed")
    resumed = go(model, task, "killed")
    assert resumed["metrics"] == whole["metrics"]
    assert resumed["status"] in ("finished", "collapsed")
    assert {f"test/{name}" for name in SCORES.get(task, LIKELIHOOD)} <= resumed["metrics"].keys()
    assert 0 < resumed["metrics"]["test/nll"] < math.inf


def test_perplexity_is_that_of_its_lines(go, small):
    result = go("decoder_only", "language_model", "one")
    rows = np.load(f"{result['evaluation']}/test.stats.npz")["nll"]
    nll, tokens = rows.sum(0)
    assert len(rows) == 20
    assert result["metrics"]["test/nll"] == pytest.approx(nll / tokens, rel=1e-6)
    assert result["metrics"]["test/perplexity"] == math.exp(result["metrics"]["test/nll"])


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["task=language_model"], "task .* Causal inputs, .* model Transformer takes Seq2Seq"),
        (
            ["task=masked_language_model", "model=encoder_only", "loss=padding_counted"],
            "loss counts padding, .* task MaskedLanguageModel are PAD",
        ),
        (
            ["model=decoder_only", "probe=word_order"],
            "probe needs a Transformer, .* model is DecoderOnly",
        ),
    ],
)
def test_what_does_not_fit_ends_before_work(compose, overrides, words):
    with pytest.raises(UserError, match=words):
        resolve(compose("logger=none", *overrides))


def test_text_of_one_language_is_modelled(go, tmp_path):
    texts = [f"the {word} is here ." for word in ("cat", "dog", "bird", "fish") * 10]
    for name in ("train", "validation", "test"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in texts))
    files = [f"data.{name}={tmp_path / name}" for name in ("train", "validation", "test")]
    options = ["data=language", "data.language=en", "tokenizer=char", *files]
    result = go("decoder_only", "language_model", "text", *options, lacks=("data.",))
    assert 1 < result["metrics"]["test/perplexity"] < 40
