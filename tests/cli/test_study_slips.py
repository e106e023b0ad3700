"""Slips in a study are named with what was given and what is allowed, before torch is imported."""

import sys

import pytest

from ablate.config.location import CONF


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["optimizer.lr=0.1,0.2"], ["optimizer.lr", "0.1, 0.2", "model/residual, schedule"]),
        (["model/residul=pre_ln,post_ln"], ["model/residul", "did you mean model/residual?"]),
        (["model.n_head=1,2"], ["model.n_head", "did you mean model.n_heads?"]),
        (["schedul=noam,no_warmup"], ["schedul", "did you mean schedule?"]),
        (["study.claims.0.kind=equivalense"], ["kind=equivalense", "did you mean equivalence?"]),
        (["study.claims.1.better=highr"], ["better=highr", "did you mean higher?"]),
        (["study.claims.0.scale=lgo"], ["scale=lgo", "linear", "log_log"]),
        (["study.expect=diffrent"], ["study.expect=diffrent", "did you mean different?"]),
        (["study.tune.better=lowr"], ["better=lowr", "did you mean lower?"]),
        (["optimizer.beta=1,2", "study.tune=null"], ["optimizer.beta", "optimizer.betas"]),
        (["study.looks=many"], ["study.looks=many", "a whole number"]),
        (["study.factors=schedule"], ["study.factors=schedule", "a list"]),
        (["study.tune.values=3"], ["study.tune.values=3", "a list"]),
        (["study.claims.0.margn=3"], ["margn", "did you mean study.claims.0.margin?"]),
        (["study.tune={ky:1}"], ["study.tune.ky", "did you mean study.tune.key?"]),
        (["study.match={by:flops}"], ["study.match is null"]),
        (["+study.nuisence=[a]"], ["study.nuisence", "did you mean study.nuisance?"]),
        (
            ["study.figures=[{metrik:a}]"],
            ["study.figures.metrik", "did you mean study.figures"],
        ),
    ],
)
def test_a_plan_names_what_is_wrong_with_its_study_before_torch_is_read(
    command, monkeypatch, words, parts
):
    monkeypatch.setitem(sys.modules, "ablate.plan.plan", None)  # importing it would fail
    status, out, error = command("plan", "+experiment=preln_vs_postln", *words)
    assert status == 2 and out == "" and error.count("\n") == 1, error
    for part in parts:
        assert part in error


@pytest.mark.parametrize(
    ("right", "wrong", "parts"),
    [
        ("statement:", "statment:", ["study.claims.0.statment", "did you mean", "statement"]),
        ("where: {schedule", "where: {schedul", ["names schedul,", "did you mean schedule?"]),
        ("baseline:", "basline:", ["study.claims.0.basline", "baseline"]),
        ("margin: 2.0", "margin: two", ["study.claims.0.margin", "a number", "two"]),
        ("treatment: {", "treatment: [", ["mine"]),
        ("over: schedule", "ovr: schedule", ["study.figures.0.ovr", "study.figures.0.over"]),
        ("value: 8.45", "value: much", ["study.published.0.value", "a number", "much"]),
        ("regime:", "regim:", ["study.published.0.regim", "study.published.0.regime"]),
        ("  tune:", "  match: {bi: flops}\n  tune:", ["study.match.bi", "allowed here is by"]),
        ("  tune:", "  match: {by: flops}\n  tune:", ["study.match.to", "no value"]),
        ("  tune:", "  match: {by: flop, to: {schedule: noam}}\n  tune:", ["by=flop", "flops"]),
        ("  tune:", "  match: [1]\n  tune:", ["mine.yaml", "keys with their values"]),
        ("seeds: [901, 902]", "seeds: 901", ["study.tune.seeds", "a list"]),
        ("kind: stability", "kind: stable", ["kind=stable", "did you mean stability?"]),
        ("    - id:", "    - name:", ["study.claims.0.name", "allowed here is alpha"]),
    ],
)
def test_a_slip_in_the_file_of_an_experiment_is_named(
    command, tmp_path, monkeypatch, right, wrong, parts
):
    monkeypatch.setitem(sys.modules, "ablate.plan.plan", None)
    text = (CONF / "experiment" / "preln_vs_postln.yaml").read_text(encoding="utf-8")
    (tmp_path / "experiment").mkdir()
    slip = text.replace(right, wrong, 1)
    (tmp_path / "experiment" / "mine.yaml").write_text(slip, encoding="utf-8")
    assert slip != text
    status, out, error = command("plan", "--config-dir", tmp_path, "+experiment=mine")
    assert status == 2 and out == "" and error.count("\n") == 1, error
    for part in parts:
        assert part in error


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("study.factors=[model/norm]", "study.factors=['model/norm']: the only factor of a screen"),
        ("+study.screen.claims.swiglu={margin:big}", "study.screen.claims.swiglu.margin=big: "),
    ],
)
def test_a_slip_in_a_screen_names_its_key(command, word, message):
    status, out, error = command("plan", "+experiment=modern_screen", word)
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert message in error


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("study: {factors: [schedule], claims: [{id: a}]}", "study.claims.0.kind"),
        ("study: {claims: [{id: a}]}", "study.claims.0.kind"),
        ("study: {factors: [schedule], claims: [], match: {by: flops}}", "study.match.to"),
        ("study: {factors: [schedule], claims: [], tune: {key: seed}}", "study.tune."),
        ("study: {screen: {metric: test/nll}}", "study.screen."),
    ],
)
def test_a_key_without_a_value_is_named_as_it_is_given(command, tmp_path, text, key):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{text}\n")
    status, _, error = command("plan", "--config-dir", tmp_path, "+experiment=mine")
    assert status == 2 and "no value" in error, error
    assert key in error and "study.study" not in error and "screen.study" not in error, error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "key", "form"),
    [
        ("study: {factors: [schedule], claims: {mine: {id: a}}}", "study.claims", "a list"),
        ("study: {factors: {schedule: [noam]}}", "study.factors", "a list"),
        ("study: {factors: [schedule], looks: {a: 1}}", "study.looks", "a whole number"),
        ("study: [schedule]", "study", "keys with their values"),
        ("budget: [3]", "budget", "keys with their values"),
        ("trainer: [cpu]", "trainer", "keys with their values"),
        ("study: {claims: [{id: a, where: [b]}]}", "study.claims.0.where", "keys with their"),
        ("study: {claims: [better]}", "study.claims.0", "keys with their values"),
    ],
)
def test_a_list_in_place_of_keys_or_the_reverse_is_named(command, tmp_path, text, key, form):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{text}\n")
    status, _, error = command("plan", "--config-dir", tmp_path, "+experiment=mine")
    assert status == 2 and error.count("\n") == 1, error
    assert error.startswith(f"ablate plan: {key} in experiment/mine.yaml: it must be {form}"), error
