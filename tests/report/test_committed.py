"""No verdict is typed by hand: every committed experiment, built again, is the same.

The figures' bytes are those of the versions in constraints.txt.
"""

import json
import shutil
from pathlib import Path

import pytest

from ablate.evidence.folder import Evidence
from ablate.report.write import Figure, write_report
from ablate.verdict.stored import RESULT
from lab.index import index

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
# a folder without a verdict has a part of the runs of a study
COMMITTED = sorted(path.parent for path in EXPERIMENTS.glob("*/verdict.json"))
# one figure of each kind at least; drawing all of them takes minutes
DRAWN = (
    "head_cost",
    "modern_second_corpus",
    "norms_by_rate",
    "preln_vs_postln",
    "preln_vs_postln_depth",
)
SLOW = pytest.mark.slow


def quick():
    """Experiments with each pair of a kind of claim and a verdict, those with many first."""
    answers, covered = {}, set()
    for folder in COMMITTED:
        claims = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))["claims"]
        answers[folder] = {(claim["kind"], claim["verdict"], claim["grade"]) for claim in claims}
    for folder in sorted(answers, key=lambda folder: -len(answers[folder])):
        if not answers[folder] <= covered:
            covered |= answers[folder]
            yield folder


QUICK = frozenset(quick())


def write_again(folder, tmp_path):
    if (folder / RESULT).exists():
        shutil.copy(folder / RESULT, tmp_path)
    write_report(Evidence.load(folder), tmp_path)


def built(folder, pattern):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob(pattern)}


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(path, marks=() if path in QUICK else SLOW)
        for number, path in enumerate(COMMITTED)
        if path in QUICK or number % 3 == 0
    ],
    ids=lambda folder: folder.name,
)
def test_committed_report_is_that_of_its_evidence(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(Figure, "picture", None)
    monkeypatch.setattr("ablate.report.draw.svg", lambda picture: "<svg/>\n")
    write_again(folder, tmp_path)
    for name in ("verdict.json", "report.md"):  # the page holds the same
        again, committed = ((place / name).read_bytes() for place in (tmp_path, folder))
        assert again == committed, f"ablate judge experiments/{folder.name} writes another {name}"
    assert built(tmp_path, "figures/*").keys() == built(folder, "figures/*").keys()


@pytest.mark.parametrize(
    "folder",
    [  # the others are drawn by the same functions
        pytest.param(path, marks=() if path.name in DRAWN else SLOW)
        for number, path in enumerate(COMMITTED)
        if path.name in DRAWN or number % 12 == 0
    ],
    ids=lambda folder: folder.name,
)
def test_committed_figures_are_those_of_their_evidence(folder, tmp_path):
    write_again(folder, tmp_path)
    again, committed = (built(place, "figures/*") for place in (tmp_path, folder))
    changed = [name for name in again if again[name] != committed[name]]
    assert again and not changed, f"ablate judge experiments/{folder.name} draws another {changed}"


def test_every_kind_of_figure_is_drawn():
    def kinds(folders):
        return {path.stem.partition("-")[0] for f in folders for path in f.glob("figures/*")}

    assert kinds(COMMITTED) == kinds(EXPERIMENTS / name for name in DRAWN)


def test_whatever_lies_in_experiments_is_checked():
    reports = {path.parent for path in EXPERIMENTS.rglob("verdict.json")}
    assert reports <= set(COMMITTED)


def test_the_table_of_all_verdicts_is_that_of_the_experiments():
    assert (EXPERIMENTS / "README.md").read_text() == index(EXPERIMENTS)
