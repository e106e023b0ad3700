"""A committed experiment is asked again with fresh seeds."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ablate.evidence.folder import Evidence
from ablate.evidence.log import Sweep, register
from ablate.evidence.registration import questions
from ablate.sweep.reproduction import RESULT, Reproduction

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
NAME = "dot_products"


@pytest.fixture
def begun(tmp_path):
    """Write a sweep for the questions of the experiment into the book; return its folder."""
    first = Evidence.load(EXPERIMENTS / NAME)

    def begin(number, replicate, contest):
        folder = f"sweeps/{NAME}/{number}"
        asked = questions(first.study)
        fields = (NAME, float(number), folder, "hash", {}, {}, replicate, [0, 1], asked, contest)
        register(tmp_path, Sweep(*fields))
        return tmp_path / folder

    return begin


def replicate(tmp_path):
    contest = Reproduction.of(NAME, EXPERIMENTS, tmp_path)
    assert contest.overrides[:1] == [f"+experiment={NAME}"]
    assert "contest=true" in contest.overrides
    (override,) = [word for word in contest.overrides if word.startswith("replicate=")]
    return int(override.removeprefix("replicate="))


def test_a_contest_takes_seeds_that_nobody_saw_and_goes_on_where_it_stopped(begun, tmp_path):
    assert replicate(tmp_path) == 2  # the committed contest took the first one
    begun(1, 4, contest=False)
    assert replicate(tmp_path) == 5
    folder = begun(2, 5, contest=True)
    assert replicate(tmp_path) == 5
    folder.mkdir(parents=True)
    (folder / RESULT).write_text("{}")
    assert replicate(tmp_path) == 6


def test_both_verdicts_are_told(begun, tmp_path):
    contest = Reproduction.of(NAME, EXPERIMENTS, tmp_path)
    shutil.copytree(EXPERIMENTS / NAME, begun(1, 1, contest=True), dirs_exist_ok=True)
    list(contest.lines())
    kept = json.loads((tmp_path / "sweeps" / NAME / "1" / RESULT).read_text())
    claims = kept["claims"]
    assert kept["replicate"] == 1
    # two of four claims are exact
    assert [claim["replication"] for claim in claims] == ["reproduced"] * 2
    assert all(set(claim["fresh"]["p"]) >= {"supported", "refuted"} for claim in claims)


def test_fresh_seeds_that_are_asked_twice_are_exploratory(begun, tmp_path):
    experiments = tmp_path / "experiments"
    shutil.copytree(EXPERIMENTS / NAME, experiments / NAME)
    shutil.copytree(EXPERIMENTS / NAME, begun(1, 1, contest=True), dirs_exist_ok=True)
    exploratory = []
    for _ in range(2):
        list(Reproduction.of(NAME, experiments, tmp_path).lines())
        report = tmp_path / "sweeps" / NAME / "1" / RESULT
        claims = json.loads(report.read_text())["claims"]
        exploratory.append({claim["exploratory"] for claim in claims})
        (experiments / NAME / RESULT).unlink(missing_ok=True)
    assert exploratory == [{True}, {False}]


@pytest.mark.parametrize(
    ("command", "contest", "number"),
    [
        ("replicate=3", None, 4),
        ("", {"replicate": 6}, 7),
        ("replicate=3", {}, 5),
        ("replicate=9", {"replicate": 6}, 10),
    ],
)
def test_a_contest_avoids_the_seeds_of_the_evidence_and_of_the_contest_beside_it(
    tmp_path, command, contest, number
):
    first = Evidence.load(EXPERIMENTS / NAME)
    words = f"python -m ablate +experiment={NAME} {command} -m"
    replace(first, registration={**first.registration, "command": words}).save(tmp_path / NAME)
    if contest is not None:
        (tmp_path / NAME / RESULT).write_text(json.dumps({"claims": [], **contest}))
    overrides = Reproduction.of(NAME, tmp_path, tmp_path / "results").overrides
    given = [word for word in overrides if word.startswith("replicate=")]
    assert given[-1] == f"replicate={number}"
