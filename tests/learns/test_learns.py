"""A model that runs may still not learn: these look at what it has learned."""

import random

import pytest

from ablate.config import CONF
from ablate.train.resolve import resolve
from ablate.train.run import run

ALL = sorted(f"{p.parent.name}={p.stem}" for p in CONF.glob("model/*/*.yaml"))
# a level that the decoder's self-attention refuses acts in the others
ELSEWHERE = {
    name: tuple(f"model/attention@model.{place}.attention={name}" for place in ("encoder", "cross"))
    for name in ("linformer", "linformer_narrow")
}
# the overrides of levels that need more than themselves
OVERRIDES = {
    **{f"attention={name}": overrides for name, overrides in ELSEWHERE.items()},
    "parametrisation=mup": ("model/parametrisation=mup", "optimizer=adamw_by_role"),
    # learns all the same, but more slowly
    "projections=none": ("model/projections=none", "budget.steps=400", "budget.validate_every=400"),
}
# BLEU of levels that are right not to learn everything
WORSE = {
    "attention=off": (0, 10),  # knows nothing of the source
    "attention=fixed_offset": (30, 90),  # target i sees sources i - 2 and i - 1 alone
    "position=constant": (85, 101),  # the encoder has a bag of words: few pairs have the same one
    "position=none": (85, 101),
    "position=sinusoidal_slow": (85, 101),  # neighbours are nearly alike
}
# levels with a path or a result of their own; laws hold for all levels
LEVELS = [level for level in ALL if level in OVERRIDES or level in WORSE]
WORDS = ["ba", "de", "gi", "ko", "lu", "ma", "ne", "pi"]


@pytest.fixture
def reversed_pairs(tmp_path):
    """A corpus in which the target is the source backwards; test is text seen in training."""
    rng = random.Random(0)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(3, 6))) for _ in range(60)]
    backwards = [" ".join(reversed(line.split())) for line in lines]
    for name in ("train", "validation", "test"):
        (tmp_path / f"{name}.aa").write_text("".join(f"{line}\n" for line in lines))
        (tmp_path / f"{name}.bb").write_text("".join(f"{line}\n" for line in backwards))
    names = [f"data.{name}={tmp_path}/{name}" for name in ("train", "validation", "test")]
    return ["data=parallel", "data.source=aa", "data.target=bb", "tokenizer=word", *names]


@pytest.fixture
def bleu(reversed_pairs, compose, tmp_path):
    """Return BLEU on the pairs after 200 steps on them."""

    def trained(*overrides):
        config = compose(
            *reversed_pairs,
            "logger=none",
            "model.d_model=32",
            "model.d_ff=64",
            "model.n_layers=1",
            "model.dropout.rate=0.0",
            "batch.tokens=256",
            "budget.steps=200",
            "budget.warmup=40",
            "budget.validate_every=200",
            f"paths.results={tmp_path}/results",
            f"paths.cache={tmp_path}/cache",
            *overrides,
        )
        return run(resolve(config))["metrics"]["test/bleu"]

    return trained


@pytest.mark.parametrize("residual", ["post_ln", pytest.param("pre_ln", marks=pytest.mark.slow)])
def test_a_handful_of_pairs_is_learned_by_heart(bleu, residual):
    assert bleu(f"model/residual={residual}") > 95


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_learns_a_handful_of_pairs(bleu, level):
    least, most = WORSE.get(level, (95, 101))
    assert least <= bleu(*OVERRIDES.get(level, (f"model/{level}",))) <= most


@pytest.mark.slow
def test_the_default_run_learns_the_built_in_corpus(compose, tmp_path, cache_folder):
    folders = [f"paths.results={tmp_path}/results", f"paths.cache={cache_folder}", "logger=none"]
    assert 30 < run(resolve(compose(*folders)))["metrics"]["test/bleu"] < 95
