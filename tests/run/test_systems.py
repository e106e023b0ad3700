"""Models with tasks: what language models measure, and what does not fit."""

import math

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.train.resolve import resolve
from ablate.train.run import run


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
