"""What is written down of every sweep and look, and what that does to a verdict fished for."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.evidence.checks import ANALYSIS_LOG
from ablate.evidence.folder import Evidence
from ablate.evidence.log import Sweep, add_analysis, history, read_log, register
from ablate.evidence.outcome import reason
from ablate.evidence.registration import concerns, question_keys, questions, rule
from ablate.verdict.contrast import NO_HISTORY, history_of, information_fractions
from lab.calibration import fishing
from lab.calibration.fishing import CLAIM, ROUTES, PHackingSimulation, Try

REASONS = {
    "looks within the plan": "",
    "more seeds than planned": "alpha_spent",
    "one seed dropped": "seeds_left_out",
    "two seeds dropped": "seeds_left_out",
    "a seed stopped by hand": "seeds_left_out",
    "another replicate": "alpha_spent",
    "another learning rate": ["optimizer.lr", 0.0, 1.0],
    "a renamed study": "alpha_spent",
    "another margin": ["margin", 0.0, 0.05],
    "a level changed under its name": ["arm.steps in arm=treatment", 0.0, 1.0],
}


@pytest.fixture
def user():
    return PHackingSimulation(np.random.default_rng(0))


@pytest.mark.parametrize("name", ROUTES)
def test_no_route_to_a_second_try_is_free(user, name):
    first, second = (
        user.judged(attempt) for attempt, _ in zip(ROUTES[name](user), "12", strict=False)
    )
    assert history_of(CLAIM, first)["tried"] == []
    tried = history_of(CLAIM, second)["tried"]
    caveat_values = [
        x for each in tried for x in (each["code"], *each["values"].get("changes", []))
    ]
    assert (REASONS[name] in caveat_values) if REASONS[name] else tried == []
    if name == "looks within the plan":
        assert information_fractions(CLAIM, second, range(10)) == (0.25, 0.5)


def test_lucky_seeds_of_an_exact_claim_are_exploratory(monkeypatch):
    exact = {**CLAIM, "kind": "exact", "metric": "test/changed"}
    monkeypatch.setattr(fishing, "CLAIM", exact)
    user = PHackingSimulation(np.random.default_rng(0))
    user.judged(Try(seeds=tuple(range(15)), planned=15))
    lucky = user.judged(Try(seeds=(0, 3, 4, 8, 11), planned=15))
    assert history_of(exact, lucky)["tried"] == [reason("seeds_left_out", seeds=10)]
    tried, *_ = history_of(exact, user.judged(Try(seeds=(0, 3, 4, 8, 11), planned=5)))["tried"]
    assert ["seeds", 15, 5] in tried["values"]["changes"]


def test_a_claim_is_about_the_levels_that_it_names_and_all_of_other_factors():
    other_claim = {**CLAIM, "treatment": {"arm": "other"}}
    assert concerns(CLAIM, "arm=treatment") and concerns(CLAIM, "loss=kl")
    assert not concerns(other_claim, "arm=treatment")
    assert concerns({**other_claim, "loses": {"arm": "treatment"}}, "arm=treatment")


BEGUN = Sweep("a", 1.0, "a", "", {}, {"lr": 0.1}, 0, [0], {}, levels={"norm=mine": {"eps": 1}})


@pytest.mark.parametrize(
    ("later", "changes"),
    [
        ({"settings": {"lr": 0.1, "eps": 2}}, [("eps", None, 2)]),
        ({"settings": {}}, [("lr", 0.1, None)]),
        ({"settings": {}, "free": ["lr"]}, []),  # it varies there
        ({"settings": {"lr": 0.1, "metric.mine.most": 2}}, []),
        ({"levels": {"norm=mine": {"eps": 1, "gain": 2}}},
         [("gain in norm=mine", None, 2)]),
        ({"levels": {"norm=mine": {}}}, [("eps in norm=mine", 1, None)]),
        ({"levels": {}}, []),
    ],
)  # fmt: skip
def test_keys_that_came_or_went_are_changes_unless_the_code_is_another(later, changes):
    before = replace(BEGUN, code="c")
    assert before.changes(replace(before, **later), ["norm=mine"]) == changes
    assert before.changes(replace(before, **later, code="d"), ["norm=mine"]) == []


def test_a_claim_of_what_cannot_be_does_not_become_one_of_what_is_worse(user):
    user.judged(Try(seeds=(0, 1), planned=4))
    for rules in user.sweeps[0].questions.values():
        rules[0]["cannot"] = True
    second = user.judged(Try(planned=4, seeds=(0, 1, 2, 3)))
    (tried,) = history_of(CLAIM, second)["tried"]
    assert tried["values"]["changes"] == [["cannot", True, False]]


def test_seeds_of_another_replicate_are_other_seeds(user):
    user.judged(Try(seeds=(0, 1), planned=4))
    history = history_of(CLAIM, user.judged(Try(seeds=(1, 2), planned=4, replicate=3)))
    assert history["tried"] == [reason("seeds_left_out", seeds=2)]
    assert history["looks"] == [[]]


def test_contests_know_of_contests_alone(user):
    user.judged(Try())
    first = user.judged(Try(replicate=1, contest=True))
    assert history_of(CLAIM, first) == {"looks": [], "tried": [], "regimes": 0}
    assert {run["seed"] for run in first.runs} == set(range(10))
    second = user.judged(Try(replicate=2, contest=True))
    (tried,) = history_of(CLAIM, second)["tried"]
    assert (tried["code"], tried["values"]["seeds"]) == ("earlier_replication", 10)
    codes = [x["code"] for x in history_of(CLAIM, user.judged(Try(replicate=3)))["tried"]]
    assert codes == ["alpha_spent", "seeds_left_out"]  # of the first alone


@pytest.mark.parametrize("analysed", [True, False])
def test_seeds_that_an_earlier_sweep_started_may_not_be_left_out(user, analysed):
    user.judged(Try(seeds=(0, 1, 2), planned=4))
    if not analysed:  # it was stopped before its end
        user.sweeps[0].looks.clear()
    history = history_of(CLAIM, user.judged(Try(seeds=(1, 3), planned=4)))
    assert history["tried"] == [reason("seeds_left_out", seeds=2)]


def test_a_question_is_the_pair_of_its_arms():
    turned = {**CLAIM, "treatment": CLAIM["baseline"], "baseline": CLAIM["treatment"]}
    renamed = {**CLAIM, "id": "other", "kind": "equivalence", "margin": 1.0}
    other = {**CLAIM, "metric": "test/bleu", "where": {"lr": 1}}
    keys = question_keys(CLAIM)
    assert question_keys(turned) == question_keys(renamed) == question_keys(other) == keys
    assert not {*question_keys({**CLAIM, "treatment": {"arm": "x"}})} & {*keys}
    alone = {**CLAIM, "treatment": {}, "baseline": {}}
    assert question_keys(alone) != question_keys({**alone, "metric": "test/bleu"})
    rules = [json.dumps(rule(x, {"seeds": 3, "tune": None})) for x in (CLAIM, turned, renamed)]
    assert len({*rules}) == 3


@pytest.fixture
def swept(user, tmp_path):
    """Begin and end a sweep in a folder of results, with files."""

    def sweep(attempt, results="results", **changes):
        made, base = user.judged(attempt), tmp_path / results
        folder = f"sweeps/made/{len(user.sweeps)}"
        record = replace(user.sweeps[-1], folder=folder, looks=[], **changes)
        written = register(base, record)
        (base / folder).mkdir(parents=True)
        runs = [user.run(attempt, arm, s) for arm in fishing.ARMS for s in record.seeds]
        return add_analysis(base, base / folder, replace(made, runs=runs, registration=written))

    return sweep


MARGIN = ["margin", 0.0, 1.0]


def test_the_book_outlives_names(swept, tmp_path):
    swept(Try())
    evidence = swept(Try(name="other", margin=1.0))
    assert evidence.registration["earlier"] != []
    assert MARGIN in history_of(CLAIM, evidence)["tried"][0]["values"]["changes"]
    assert len(read_log(tmp_path / "results")) == 4


@pytest.mark.parametrize("how", [("look", "loop"), ('"time": 1', '"time": 2'), ("}", "")])
def test_a_line_that_was_changed_is_refused(swept, tmp_path, how):
    swept(Try())
    log = tmp_path / "results" / ANALYSIS_LOG
    first, second = log.read_text().splitlines()
    log.write_text(f"{first}\n{second.replace(*how)}\n")
    with pytest.raises(UserError, match=r"book\.jsonl: line 2"):
        read_log(tmp_path / "results")


def test_lines_that_a_book_has_lost_come_back_from_the_folders_of_sweeps(swept, tmp_path):
    swept(Try())
    (tmp_path / "results" / ANALYSIS_LOG).unlink()
    evidence = swept(Try(margin=1.0))
    assert MARGIN in history_of(CLAIM, evidence)["tried"][0]["values"]["changes"]


def test_a_clock_that_jumps_back_makes_no_second_try_the_first(swept, monkeypatch):
    swept(Try())
    monkeypatch.setattr("ablate.evidence.log.time.time", lambda: 1e8)
    evidence = swept(Try(margin=1.0), time=-1e9)
    assert MARGIN in history_of(CLAIM, evidence)["tried"][0]["values"]["changes"]


def test_what_others_ran_spends_no_alpha_here(swept):
    swept(Try(rate=1.0))
    for number, attempt in enumerate((Try(rate=2.0), Try(margin=1.0), Try(seeds=(0, 1)), Try())):
        assert history_of(CLAIM, swept(attempt, results=f"elsewhere {number}")) == NO_HISTORY
    other = swept(Try(rate=2.0), regime={"data": "other"})
    assert history_of(CLAIM, other) == {**NO_HISTORY, "regimes": 1}


def sweep_of(number, claim, settings, regime=None, levels=None, tune=None):
    """A sweep with one claim, and its study."""
    study = {"factors": [], "seeds": 2, "tune": tune, "claims": [claim]}
    names, levels = dict.fromkeys(("name", "folder", "study"), str(number)), levels or {}
    asked = {"questions": questions(study, levels), "levels": levels, "seeds": [0, 1]}
    setting = {"time": float(number), "regime": regime or {}, "settings": settings}
    return replace(BEGUN, **names, **asked, **setting, replicate=number), study


def tried_after(first, second):
    """The reasons why the claim of a second sweep is exploratory after a first one."""
    (before, _), (now, study) = first, second
    asked = history(study["claims"][0], Evidence.synthetic(study, []), now, [before, now])
    return [x for x in asked["tried"] if x["code"] != "seeds_left_out"], asked["regimes"]


LR = {"lr": 0.1}


@pytest.mark.parametrize("metric", ["test/bleu", "measure/place"])
def test_another_metric_is_the_same_question(metric):
    first = sweep_of(0, {**CLAIM, "metric": metric}, LR)
    (attempt,), _ = tried_after(first, sweep_of(1, CLAIM, LR))
    assert attempt["values"]["changes"] == [["metric", metric, CLAIM["metric"]]]
    assert tried_after(first, sweep_of(1, {**CLAIM, "minus": {"a": 1}}, LR)) == ([], 0)


@pytest.mark.parametrize("now", [{"key": "lr", "values": [1, 2]}, None])
def test_another_tuned_key_or_value_is_noticed(now):
    tune = {"key": "lr", "values": [1]}
    (attempt,), _ = tried_after(sweep_of(0, CLAIM, LR, tune=tune), sweep_of(1, CLAIM, LR, tune=now))
    assert attempt["values"]["changes"] == [["tune", tune, now]]


@pytest.mark.parametrize(
    ("where", "levels", "noticed"),
    [
        ({"model.n_layers": 1}, {}, True),  # a factor at its default
        ({"model.n_layers": 2}, {}, False),
        ({"model.n_layers": "1"}, {}, False),
        ({"trainer.x": False}, {"trainer.x=False": {}}, True),  # which changes no result
    ],
)
def test_a_factor_that_changes_nothing_makes_no_new_question(where, levels, noticed):
    first = sweep_of(0, {**CLAIM, "margin": 1.0}, LR | {"model.n_layers": 1})
    both = {arm: {**CLAIM[arm], **where} for arm in ("treatment", "baseline")}
    for more in ({"where": where}, both):
        reasons, _ = tried_after(first, sweep_of(1, {**CLAIM, **more}, LR, levels=levels))
        assert bool(reasons) == noticed


def test_another_name_of_the_same_arm_makes_no_new_question():
    sets = {"arm.steps": 1, "arm._target_": "ablate.x.Arm"}
    first = sweep_of(0, {**CLAIM, "margin": 1.0}, LR, levels={"arm=treatment": sets})
    renamed = {**CLAIM, "treatment": {"arm": "renamed"}}
    for changed, noticed in ((sets, True), (sets | {"arm.steps": 2}, False)):
        second = sweep_of(1, renamed, LR, levels={"arm=renamed": changed})
        assert bool(tried_after(first, second)[0]) == noticed


@pytest.mark.parametrize(
    ("regime", "is_same"),
    [
        ({"scale": "renamed"}, True),
        ({"steps": 601}, True),
        ({"steps": 1200}, False),
        ({"data": "other"}, False),
        ({"device": "cuda"}, False),
    ],
)
def test_another_name_of_a_setting_or_one_more_step_makes_no_new_question(regime, is_same):
    usual = {"scale": "cpu", "model": "micro", "data": "toy", "device": "cpu"}
    usual |= {"steps": 600, "d_model": 64}
    settings = [LR | {"budget.steps": x.get("steps", 600)} for x in (usual, regime)]
    first = sweep_of(0, CLAIM, settings[0], usual)
    reasons, settings_elsewhere = tried_after(
        first, sweep_of(1, CLAIM, settings[1], usual | regime)
    )
    changed = settings[0] != settings[1]
    assert (bool(reasons), settings_elsewhere) == (is_same and changed, int(not is_same))
    other_model = sweep_of(0, CLAIM, LR | {"model.x": 1}, usual | {"model": "a"})
    assert tried_after(other_model, sweep_of(1, CLAIM, LR | {"model.x": 2}, usual)) == ([], 1)
