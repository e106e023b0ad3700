"""A warm-up that would not end within the run."""

import pytest

from ablate.config.construct import construct
from ablate.config.settle import settle
from ablate.errors import UserError, say_once


@pytest.fixture
def settled(compose, capsys):
    """Settle a config and return it, with what was said."""

    def make(*overrides, hydra_node=False):
        say_once.cache_clear()
        config = compose(*overrides, hydra_node=hydra_node)
        settle(config)
        return config, capsys.readouterr().out

    return make


@pytest.mark.parametrize("schedule", ["noam", "cosine", "wsd"])
@pytest.mark.parametrize("steps", [2, 99, 190, 230])
def test_the_rate_of_a_short_run_reaches_its_peak(settled, schedule, steps):
    config, printed = settled(f"budget.steps={steps}", f"schedule={schedule}")
    factor = construct(config.schedule)
    assert max(factor(step) for step in range(1, steps + 1)) == 1
    assert config.budget.warmup == max(1, steps // 4)
    assert f"budget.steps={steps}" in printed and "190" in printed


def test_a_short_run_is_validated_often_enough_for_a_curve(settled):
    config, _ = settled("budget.steps=100", hydra_node=True)
    assert config.trainer.val_check_interval == config.trainer.log_every_n_steps == 25
    config, _ = settled("budget.steps=100", "budget.validate_every=60", hydra_node=True)
    assert config.trainer.val_check_interval == 60


@pytest.mark.parametrize("steps", [7, 150])
def test_an_arm_without_warmup_decays_as_the_one_with_it(settled, steps):
    names = ("noam", "no_warmup")
    pair = [settled(f"budget.steps={steps}", f"schedule={name}")[0] for name in names]
    noam, none = (construct(config.schedule) for config in pair)
    after = range(pair[0].budget.warmup, steps + 1)
    assert [noam(step) for step in after] == [none(step) for step in after]
    assert none(1) == 1


@pytest.mark.parametrize("words", [["schedule=constant"], ["probe=parameter_count"], []])
def test_what_has_no_warmup_to_shorten_stays_as_it_is(settled, words):
    steps = "budget.steps=380" if not words else "budget.steps=3"
    config, printed = settled(*words, steps)
    assert config.budget.warmup == 190 and "warmup" not in printed


@pytest.mark.parametrize(
    "words",
    [
        ["budget.warmup=151"],
        ["budget.warmup=200", "schedule=no_warmup"],
        ["schedule.warmup=900", "schedule=wsd"],
    ],
)
def test_a_warmup_that_is_asked_for_and_too_long_is_refused(settled, words):
    key, _, value = words[0].partition("=")
    with pytest.raises(UserError, match=f"{key}={value}"):
        settled("budget.steps=150", *words, hydra_node=True)


@pytest.mark.parametrize("short", [100])
def test_a_short_budget_within_the_warmup_is_refused(settled, short):
    with pytest.raises(UserError, match=f"budget.short={short}"):
        settled(f"budget.short={short}")


@pytest.mark.parametrize(("steps", "warmup"), [(190, 47), (191, 190)])
def test_only_a_warmup_as_long_as_an_experiment_is_shortened(settled, steps, warmup):
    config, _ = settled("+experiment=preln_vs_postln", f"budget.steps={steps}", hydra_node=True)
    assert config.budget.warmup == warmup


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        (["budget.steps=100"], 2000),
        (["budget.steps=4"], 1500),
        (["budget.steps=100", "scale=language"], 2000),
        (["budget.steps=100", "batch.scored_tokens=null"], None),
        (["budget.steps=100", "budget.test_sentences=3000"], None),
        (["budget.steps=100", "+experiment=preln_vs_postln"], None),
        (["budget.steps=300"], None),
    ],
    ids=lambda words: str(words),
)
def test_a_short_run_without_a_study_scores_less_text_and_says_so(settled, words, tokens):
    config, printed = settled(*words, hydra_node=True)
    assert config.batch.scored_tokens == tokens
    assert ("scored_tokens" in printed) == (tokens is not None)
