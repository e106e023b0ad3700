"""A sweep without a study compares the options that its command lists."""

import json

import pytest

import ablate
from ablate.sweep.runs import compose_sweep, plan_runs


@pytest.fixture
def planned(small):
    def plan(*overrides):
        with compose_sweep([*small, *overrides]) as sweep:
            return plan_runs(*sweep)

    return plan


def test_each_option_is_compared_with_the_first_over_all_other_options(planned):
    sweep = planned("model.n_heads=2,1", "model/norm=layer_norm,rms_norm", "seed=3,4")
    assert sweep.config.name.startswith("n_heads_2_1_norm_layer_norm_rms_norm")
    assert sweep.study["factors"] == ["model.n_heads", "model/norm"]
    assert sweep.study["exploratory"] and sweep.study["seeds"] == 2
    arms = [(claim["treatment"], claim["baseline"]) for claim in sweep.study["claims"]]
    assert arms == [
        ({"model.n_heads": 1}, {"model.n_heads": 2}),
        ({"model/norm": "rms_norm"}, {"model/norm": "layer_norm"}),
    ]
    assert {claim["metric"] for claim in sweep.study["claims"]} == {"test/nll"}
    assert all(cell.config.study.claims[1].treatment for cell in sweep.cells)


def test_comparisons_with_other_settings_are_other_groups_in_wandb(planned):
    names = {planned("model.n_heads=2,1", f"model.d_ff={n}").config.name for n in (16, 24, 24)}
    assert len(names) == 2


def test_bleu_answers_after_enough_steps_and_where_the_nll_would_not_differ(planned):
    for words in (["model.n_heads=2,1", "budget.steps=300"], ["search=greedy,beam"]):
        (claim,) = planned(*words).study["claims"]
        assert claim["metric"] == "test/bleu"


@pytest.mark.parametrize(
    "overrides",
    [["seed=1,2"], ["task=translation,denoising"], ["model.n_heads=1,2", "replicate=0,1"]],
    ids=lambda words: words[-1],
)
def test_a_sweep_that_compares_nothing_in_one_metric_has_no_question(planned, overrides):
    sweep = planned(*overrides)
    assert sweep.study is None and all(cell.config.study is None for cell in sweep.cells)


def test_a_comparison_ends_with_an_answer_and_a_report(command, here, small, tmp_path):
    status, output, error = command(*small, "model.n_heads=1,2", "seed=1,2", "-m")
    assert status == 0, error
    (folder,) = (tmp_path / "results" / "sweeps").glob("n_heads_1_2*/*")
    (claim,) = json.loads((folder / "verdict.json").read_text())["claims"]
    assert claim["exploratory"] and claim["pairs"] == 2
    assert claim["statement"] in output
    assert (folder / "figures" / "curves.svg").exists()
    assert ablate.load(folder, curves=True)["train/nll"].notna().sum() >= 8  # 4 runs
    assert not (tmp_path / "results" / "book.jsonl").exists()  # the question was not registered
    for judged in (["judge", folder], ["compare", folder]):
        assert claim["statement"] in command(*judged)[1]
    later = json.loads(command("compare", folder, "--metric", "test/chrf", "--json")[1])
    assert (later["claims"][0]["pairs"], later["claims"][0]["better"]) == (2, "higher")
