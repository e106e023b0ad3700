"""What makes two runs the same run."""

import ast

import pytest

from ablate.record.files import digest
from ablate.record.identity import parts, tree_hash


@pytest.fixture
def identify(compose):
    return lambda *overrides: digest(parts(compose("logger=none", *overrides), "text"))


@pytest.mark.parametrize(
    "override",
    [
        "paths.results=elsewhere",
        "paths.cache=elsewhere",
        "name=other",
        "n_jobs=3",
        "fresh=true",
        "logger=csv",
        "trainer.enable_progress_bar=false",
        "checkpoint.save_every=3",
        "budget.short=3",
        "budget.test_sentences=7",
        "+experiment=heads_param_count probe=none",
    ],
)
def test_what_cannot_change_a_number_is_outside(identify, override):
    assert identify(*override.split()) == identify()


@pytest.mark.parametrize(
    "override",
    [
        "seed=2",
        "threads=2",
        "model/residual=pre_ln",
        "model/position@model.encoder.position=none",
        "model.n_heads=2",
        "trainer.precision=bf16-mixed",
        "optimizer.lr=0.1",
        "replicate=1",
        "search@validation_search=beam",
        "batch.tokens=99",
        "budget.steps=99",
        "tokenizer.vocab_size=99",
        "probe=parameter_count",
        "callbacks=early_stopping",
    ],
)
def test_what_can_change_a_number_is_inside(identify, override):
    assert identify(override) != identify()


def test_how_bleu_counts_words_is_inside(compose):
    def identity(*words):
        overrides = ("data=parallel", "data.train=x", "data.source=en", *words)
        return parts(compose("logger=none", *overrides), "text")

    german = identity("data.target=de")
    assert german["bleu"] == "13a"
    assert german == identity("data.target=de", "task.tokenize=13a")
    assert identity("data.target=zh")["bleu"] == "zh"
    assert identity("data.target=zh") == identity("data.target=de", "task.tokenize=zh")


def test_only_the_modules_that_a_run_executes_count(compose):
    modules = parts(compose("logger=none", "model/position=learned"), "text")["modules"]
    assert "ablate.model.position.added" in modules
    assert "ablate.model.attention.linear" not in modules
    assert "ablate.train.module" in modules
    watching = ("ablate.record", "ablate.wandb", "ablate.train.tracking")
    assert not any(name.startswith(watching) for name in modules)


SOURCE = '''"""A module."""
RATE = 0.1


class Part:
    """A part."""

    def act(self):
        """Act."""
        return "what it says"  # why
'''


def hashed(text):
    return tree_hash(ast.parse(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# why", "# another reason"),
        ('"""Act."""', '"""Act, with care.\n\n        At length.\n        """'),
        ('    """A part."""\n\n', ""),
        ('"""A module."""', "# A module."),
        ('return "what it says"', 'return (\n            "what it says"\n        )'),
    ],
)
def test_comments_docstrings_and_layout_keep_the_identity(old, new):
    assert hashed(SOURCE.replace(old, new)) == hashed(SOURCE)


@pytest.mark.parametrize(("old", "new"), [("0.1", "0.2"), ("what it", "what he"), ("act", "do")])
def test_what_runs_changes_the_identity(old, new):
    assert hashed(SOURCE.replace(old, new)) != hashed(SOURCE)
