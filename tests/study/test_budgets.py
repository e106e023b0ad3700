"""Both budgets of a study: two verdicts of every claim, and whether learning was flat."""

import math
from dataclasses import replace

import pytest

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import first_at
from ablate.ledger.headline import headline
from ablate.ledger.verdicts import collect
from ablate.report.write import write_report
from ablate.verdict import floor
from ablate.verdict.conclude import conclude
from ablate.verdict.sides import sides

from .conftest import REGIME as USUAL
from .conftest import codes, only

STEPS = [600, 1200, 1800, 2400]
REGIME = USUAL | {"steps": 2400, "short": 600, "test_sentences": {"test": 10}}
# pre_ln is ahead by 10 at 600 updates and by 0.1 at 2,400, where nothing is learned any more
PRE = ([30.0, 31.2, 32.1, 31.0], [49.0, 49.6, 50.0, 49.9])
POST = ([20.0, 21.5, 22.0, 20.7], [49.1, 49.4, 49.8, 49.8])
FLAT = {"pre_ln": 0.1, "post_ln": -0.1}


@pytest.fixture
def at_both(run, evidence, claim):
    """Evidence of two arms at two budgets, by what the last quarter gains each arm."""

    def make(gains=FLAT, pre=PRE, post=POST, **changes):
        runs = []
        for arm, (short, long) in (("pre_ln", pre), ("post_ln", post)):
            for seed, ends in enumerate(zip(short, long, strict=True)):
                early, late = (
                    run({"model/residual": arm}, seed, **{"test/bleu": x, "steps": steps})
                    for x, steps in zip(ends, (600, 2400), strict=True)
                )
                values = [10.0, 20.0, 50.0, 50.0 + gains[arm]]
                late["curve"] = {"step": STEPS, "val/nll": [4.0, 3, 2, 2], "val/bleu": values}
                kept = ("status", "metrics", "curve", "reused", "ended", "seconds")
                short_end = {key: early[key] for key in kept} | {"identity": f"{arm} {seed} early"}
                runs.append(late | {"cell": len(runs), "short": short_end})
        collected = evidence(runs, claim(**{"metric": "test/bleu"} | changes), seeds=4)
        return replace(collected, regime=REGIME)

    return make


def learning(claim, evidence):
    return floor.learning(claim, sides(claim, evidence), evidence, 0.0)


def test_a_claim_has_a_verdict_at_each_budget(at_both):
    entry = only(at_both())
    assert (entry["steps"], entry["verdict"]) == (2400, "refuted")
    assert (entry["short"]["steps"], entry["short"]["verdict"]) == (600, "supported")
    assert entry["effect"] == pytest.approx(0.1)
    assert entry["short"]["effect"] == pytest.approx(10.025)


def test_each_verdict_is_the_one_that_its_budget_has_alone(at_both):
    both = at_both()
    alone = replace(both, regime={k: v for k, v in REGIME.items() if k != "short"})
    entry, both_entry = only(alone), only(both)
    assert "short" not in entry and entry["learning"]["gains"]
    assert both_entry == entry | {key: both_entry[key] for key in ("steps", "short")}
    early, short = only(both.short), both_entry["short"]
    assert {key: early[key] for key in short if key in early} == {
        key: short[key] for key in short if key in early
    }
    assert short.keys() - early.keys() == {"steps"}


def test_a_run_that_collapsed_later_still_counts_at_the_short_budget(at_both):
    both = at_both()
    wrong = both.runs[0] | {"status": "collapsed"}
    entry = only(replace(both, runs=[wrong, *both.runs[1:]]))
    assert entry["short"]["pairs"] == entry["pairs"] + 1
    assert entry["short"]["differences"][0] == pytest.approx(10.0)
    failed = {arm: count["runs"] for arm, count in entry["failed_to_learn"].items()}
    assert sorted(failed.values()) == [0, 1]


@pytest.mark.parametrize(
    ("gains", "still", "verdict"),
    [
        (FLAT, [], "supported"),
        ({"pre_ln": 0.1, "post_ln": 0.6}, ["Post-LN"], "inconclusive"),
        ({}, [], "inconclusive"),  # without curves
    ],
)
def test_what_an_arm_cannot_is_not_shown_while_it_learns(at_both, gains, still, verdict):
    """Learning is flat where no arm gains half the margin in the last quarter."""
    worse = ([20.0, 21.5, 22.0, 20.7], [30.1, 30.4, 30.8, 30.8])
    both = at_both(FLAT | gains, post=worse, cannot=True)
    if not gains:
        for run in both.runs:
            run["curve"] = {}
    entry = only(both)
    progress = entry.get("learning", {"still": [], "gains": {}})
    assert progress["still"] == still
    assert [*progress["gains"].values()] == pytest.approx([*gains.values()])
    assert (entry["verdict"], entry["cannot"]) == (verdict, True)
    withheld = None if verdict == "supported" else "still_learning"
    assert entry.get("withheld", {}).get("code") == withheld
    assert entry["effect"] == pytest.approx(19.1)
    refuted = at_both(FLAT | gains, pre=worse, post=PRE, cannot=True)  # it can
    assert only(refuted)["verdict"] == "refuted"


def test_a_plateau_shows_nothing_of_what_an_arm_cannot(at_both):
    """Far behind and flat at 600 updates, on a level at 2,400."""
    both = at_both(cannot=True)
    for run in both.runs:
        run["short"]["curve"] = {"step": [300, 600], "val/nll": [3.0, 3.0], "val/bleu": [9.0, 9.0]}
    early = only(both)["short"]
    assert early["effect"] == pytest.approx(10.025) and early["verdict"] == "inconclusive"
    assert early["withheld"]["code"] == "not_confirmed_later"
    assert early["p_look"] == {} and early["p"]  # no verdict of the ledger's family


@pytest.mark.parametrize(
    ("target", "updates"),
    [(4.5, 600), (4.0, 600), (3.5, 900), (2.0, 1800), (1.9, 2400), (1.8, math.inf)],
)
def test_a_curve_is_at_its_target_between_two_validations(target, updates):
    assert first_at(STEPS, [4.0, 3.0, 2.0, 1.9], target) == pytest.approx(updates)
    assert first_at([300, *STEPS], [None, 4.0, 3.0, 2.0, 1.9], target) == pytest.approx(updates)


def test_before_it_begins_learning_is_not_called_flat(at_both):
    nothing = ([0.0, 0.1, 0.0, 0.1], [0.1, 0.0, 0.1, 0.0])
    entry = only(at_both(pre=nothing, post=nothing))
    assert entry["problem"]["code"] == "nothing_learned"
    assert "learning" not in entry


@pytest.mark.parametrize(("effect", "still"), [(0.5, ["Pre-LN"]), (1.5, [])])
def test_without_a_margin_half_of_the_effect_may_still_be_gained(at_both, effect, still):
    both = at_both({"pre_ln": 0.6, "post_ln": 0.1})
    (claim,) = both.study["claims"]
    claim = {**claim, "margin": 0.0}
    assert floor.learning(claim, sides(claim, both), both, effect)["still"] == still


def test_files_report_and_ledger_have_both(at_both, tmp_path):
    folder = tmp_path / "experiments" / "made_up"
    at_both({"pre_ln": 0.1, "post_ln": 0.6}).save(folder)
    read = Evidence.load(folder)
    assert read.short.regime["steps"] == 600
    write_report(read, folder)
    assert "After 600 of 2,400 steps" in (folder / "report.md").read_text()
    (of_claim,) = collect(folder.parent).values()
    findings = sorted(of_claim, key=lambda finding: finding.steps, reverse=True)
    steps = [(finding.steps, finding.verdict) for finding in findings]
    assert steps == [((2400,), "refuted"), ((600,), "supported")]
    assert headline(findings).deciding == (findings[0],)  # the longest budget


@pytest.mark.parametrize(("nll", "still"), [(1.0, ["Pre-LN"]), (1.6, []), (None, [])])
def test_whether_skill_still_grows_is_told_by_the_nll(at_both, nll, still):
    both = at_both()
    for run in both.runs:
        run["metrics"] |= {"test/skill": 0.5, "chance/nll": 2.0, "bound/nll": 0.0}
        if run["arm"] == "pre_ln":
            run["curve"]["val/nll"] = [1.9, 1.8, 1.6, nll]
    (claim,) = both.study["claims"]
    progress = learning({**claim, "metric": "test/skill", "margin": 0.2}, both)
    assert progress["still"] == still
    assert progress["gains"].get("Pre-LN") == (nll and pytest.approx((1.6 - nll) / 2))
    for run in both.runs:
        del run["metrics"]["bound/nll"]
    assert learning({**claim, "metric": "test/skill"}, both)["gains"] == {}


def test_budgets_that_are_a_factor_have_the_steps_of_each_claim(at_both):
    both, longer = at_both(), {"budget.steps": 4800, "budget.short": 1200}
    shorter = {"budget.steps": 2400, "budget.short": 600}
    runs = [
        run | {"cell": 2 * run["cell"] + later, "levels": run["levels"] | budget}
        for run in both.runs
        for later, budget in enumerate((shorter, longer))
    ]
    for run in runs:
        run["arm"] = str(run["levels"])
        run["short"] = run["short"] | {"status": "collapsed"}
        run["short"]["metrics"]["val/nll"] = 3.0
    (claim,) = both.study["claims"]
    claims = [
        claim | {"where": longer, "minus": shorter, "id": "difference"},
        claim | {"where": longer, "id": "longer"},
    ]
    study = both.study | {"claims": claims, "factors": ["model/residual", *longer]}
    made = replace(both, runs=runs, study=study)
    verdict = conclude(made)
    regime, (difference, alone) = verdict["regime"], verdict["claims"]
    assert (regime["steps"], regime["short"]) == ([2400, 4800], [600, 1200])
    assert (difference["steps"], difference["short"]["steps"]) == ([4800, 2400], [1200, 600])
    assert (alone["steps"], alone["short"]["steps"]) == (4800, 1200)
    wrong = codes(verdict)["short_runs_went_wrong"]
    assert (wrong["steps"], sum(wrong["arms"].values())) == ([600, 1200], 16)


def test_a_variant_that_sets_its_steps_has_these_steps(at_both):
    both = at_both()
    variants = {"pre_ln": "small_batches", "post_ln": "baseline"}
    steps = {"pre_ln": (1800, 7200), "post_ln": (600, 2400)}
    for run in both.runs:
        short, long = steps[run["arm"]]
        run["levels"] = {"variant": variants[run["arm"]]}
        run["metrics"]["steps"], run["short"]["metrics"]["steps"] = long, short
        run["short"]["metrics"]["val/nll"] = 3.5
    claim = both.study["claims"][0] | {"treatment": {"variant": "small_batches"}}
    study = {"claims": [claim | {"baseline": {"variant": "baseline"}}], "factors": ["variant"]}
    made = replace(both, study=both.study | study)
    verdict = conclude(made)
    (entry,) = verdict["claims"]
    assert (entry["steps"], entry["short"]["steps"]) == ([7200, 2400], [1800, 600])
    for run in made.runs:
        run["short"]["metrics"]["val/nll"] = 0.5  # which the baseline never reaches
    made.runs[0] |= {"status": "diverged", "metrics": {**made.runs[0]["metrics"], "steps": 30}}
    assert 30 not in conclude(made)["claims"][0]["steps"]
