"""Slips in a study are refused with their names, before torch is imported."""

import sys

import pytest

from ablate.config.location import CONF


@pytest.fixture
def refused(command, monkeypatch):
    """The error of `ablate plan` with these words, which ends before torch is imported."""
    monkeypatch.setitem(sys.modules, "ablate.plan.plan", None)  # importing it would fail

    def called(*words):
        status, out, error = command("plan", *words)
        assert (status, out) == (2, ""), error
        return error

    return called


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("optimizer.lr=0.1,0.2", "optimizer.lr"),
        ("model/residul=pre_ln,post_ln", "did you mean model/residual?"),
        ("+study.nuisence=[a]", "nuisence"),
    ],
)
def test_a_plan_names_what_is_wrong_with_its_study(refused, word, named):
    assert named in refused("+experiment=preln_vs_postln", word)


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("statement:", "statment:", "statment"),
        ("where: {schedule", "where: {schedul", "schedul"),
        ("  tune:", "  match: {by: flops}\n  tune:", "study.match.to"),
        ("seeds: [901, 902]", "seeds: 901", "seeds"),
    ],
)
def test_a_slip_in_the_file_of_an_experiment_is_named(refused, tmp_path, right, wrong, named):
    text = (CONF / "experiment" / "preln_vs_postln.yaml").read_text(encoding="utf-8")
    (tmp_path / "experiment").mkdir()
    slip = text.replace(right, wrong, 1)
    (tmp_path / "experiment" / "mine.yaml").write_text(slip, encoding="utf-8")
    assert slip != text
    assert named in refused("--config-dir", tmp_path, "+experiment=mine")
