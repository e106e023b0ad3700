"""Runs as a data frame: `ablate.load`."""

import json
import shutil
from pathlib import Path

import pytest

import ablate
from ablate.errors import UserError
from ablate.record.files import write_json
from ablate.record.results import outcome_path, read_outcomes, write_outcome
from ablate.sweep.load import _config

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def test_a_row_per_run_gives_the_effect_of_the_verdict():
    runs = ablate.load(EXPERIMENTS / "preln_vs_postln")
    assert list(runs.columns[:6]) == [
        *("experiment", "model/residual", "schedule", "arm", "seed", "status")
    ]
    assert len(runs) == 48 and set(runs.status) == {"finished"}
    rates = runs.groupby("arm")["optimizer.lr"].unique()
    assert {arm: list(chosen) for arm, chosen in rates.items()} == {
        **{"Post-LN, warm-up": [0.005], "Post-LN, no warm-up": [0.0025]},
        **{"Pre-LN, warm-up": [0.01], "Pre-LN, no warm-up": [0.005]},
    }
    bleu = runs.pivot(index=["schedule", "seed"], columns="model/residual", values="test/bleu")
    difference = (bleu.pre_ln - bleu.post_ln).groupby("schedule").mean()
    verdict = json.loads((EXPERIMENTS / "preln_vs_postln" / "verdict.json").read_text())
    effects = {claim["id"]: claim["effect"] for claim in verdict["claims"]}
    assert difference.noam == pytest.approx(effects["preln_vs_postln_quality"])
    assert difference.no_warmup == pytest.approx(effects["preln_better_without_warmup"])


def test_a_folder_of_experiments_is_read_whole_and_a_short_budget_has_rows_of_its_own(tmp_path):
    for name in ("preln_vs_postln", "heads_param_count", "causal_mask"):
        shutil.copytree(EXPERIMENTS / name, tmp_path / name)
    runs = ablate.load(tmp_path).set_index("experiment")
    assert set(runs.index) == {"preln_vs_postln", "heads_param_count", "causal_mask"}
    assert runs.loc["heads_param_count", "test/bleu"].isna().all()
    twice = runs.loc["causal_mask"]
    lines = (tmp_path / "causal_mask" / "runs.jsonl").read_text().splitlines()
    short = sum("short" in json.loads(line) for line in lines)
    assert len(twice) == len(lines) + short
    assert twice.steps.nunique() == 1 + bool(short)


def test_a_run_that_two_sweeps_share_counts_once(tmp_path):
    for name in ("first", "second"):
        shutil.copytree(EXPERIMENTS / "causal_mask", tmp_path / name)
    for curves in (False, True):
        runs = ablate.load(tmp_path, curves=curves)
        assert len(runs) == len(ablate.load(tmp_path / "first", curves=curves)) > 0


def test_a_sweep_without_a_study_says_what_was_swept(tmp_path, small, command, here):
    words = ["probe=parameter_count", "model.d_ff=32,48", "hydra.sweeper.params=null", "-m"]
    status, _, error = command(*small, *words)
    assert status == 0, error
    (sweep,) = tmp_path.glob("results/sweeps/*/*/")
    runs = ablate.load(str(sweep))
    assert list(runs["model.d_ff"]) == [32, 48] and runs.arm.nunique() == 2
    every = ablate.load(tmp_path / "results")  # without the sweep: by what their configs say
    assert list(every.columns[:5]) == list(runs.columns[:5])
    assert list(every.columns[:3]) == ["experiment", "model.d_ff", "arm"]
    assert set(every.arm) == {"d_ff=32", "d_ff=48"}
    assert sorted(every["model.d_ff"]) == [32, 48]
    assert sorted(every.run) == sorted(runs.run)


def test_outcomes_name_the_folders_of_their_runs_after_a_move(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def link(results):
        end = {"folder": f"{results}/runs/a", "evaluation": f"{results}/runs/a/tests/b"}
        return {**end, "short": end}

    before, now = Path("before"), tmp_path / "now"  # relative to the current folder, and absolute
    sweep = Path("sweeps", "name", "2026-01-01_00-00-00")
    write_outcome(outcome_path(before / sweep, 0), link(before))
    assert read_outcomes(before / sweep) == [link(before)]
    before.rename(now)
    assert read_outcomes(now / sweep) == [link(now)]


def test_the_texts_of_a_test_do_not_hide_the_corpus_of_its_run(tmp_path):
    write_json(tmp_path / "identity.json", {"config": {"search.size": 5}, "data": {"test": "f"}})
    assert _config(tmp_path) == {"search.size": 5, "data.test": "f"}


def test_curves_have_a_row_for_every_validation(tmp_path, compose, small):
    committed = ablate.load(EXPERIMENTS / "preln_vs_postln", curves=True)
    assert committed.groupby("identity").step.nunique().min() > 1
    assert committed["val/nll"].notna().all()

    from ablate.train.resolve import resolve
    from ablate.train.run import run

    run(resolve(compose(*small, "trainer.log_every_n_steps=2")))
    curves = ablate.load(tmp_path / "results", curves=True)
    assert list(curves.columns[:5]) == ["experiment", "arm", "seed", "status", "identity"]
    assert list(curves.step) == [2, 4] and curves["train/lr"].notna().all()


def test_a_row_gives_its_trained_model_and_overrides_give_a_new_one(tmp_path, compose, small):
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    end = run(resolve(compose(*small, "model/position=learned")))
    (row,) = [row for _, row in ablate.load(tmp_path / "results").iterrows()]
    for given in (row, row.run, end["folder"]):
        model = ablate.load_model(given, trust="mine")
        assert not model.training and end["metrics"]["parameters"] == count(model)
    sizes = [word for word in small if word.startswith("model.")]
    plain, longer = (
        ablate.build_model("model/position=learned", *sizes, vocabulary=size) for size in (50, 60)
    )
    assert count(longer) > count(plain)
    with pytest.raises(UserError):
        ablate.load_model(ablate.load(EXPERIMENTS / "causal_mask").iloc[0])
    with pytest.raises(UserError):
        ablate.build_model("model.nothing=1")


def count(model):
    return sum(weights.numel() for weights in model.parameters())
