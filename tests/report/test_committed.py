"""No verdict is typed by hand: every committed experiment, built again, is the same.

The figures' bytes are those of the versions in constraints.txt.
"""

from pathlib import Path

import pytest

from ablate.report.index import index
from ablate.report.write import write_report
from ablate.study.evidence import Evidence

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
COMMITTED = sorted(path for path in EXPERIMENTS.glob("*") if path.is_dir())
BUILT = ("verdict.json", "report.md", "figures/*.svg")  # the page holds the same


def built(folder):
    paths = [path for pattern in BUILT for path in folder.glob(pattern)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: folder.name)
def test_committed_report_is_that_of_its_evidence(folder, tmp_path):
    write_report(Evidence.load(folder), tmp_path)
    again, committed = built(tmp_path), built(folder)
    assert again.keys() == committed.keys()
    changed = [name for name in again if again[name] != committed[name]]
    assert not changed, f"ablate judge experiments/{folder.name} writes another {changed}"


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: folder.name)
def test_committed_evidence_is_small(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".html"]
    assert sum(path.stat().st_size for path in files) < 1_000_000


def test_whatever_lies_in_experiments_is_checked():
    reports = {path.parent for path in EXPERIMENTS.rglob("verdict.json")}
    assert reports <= set(COMMITTED)


def test_the_table_of_all_verdicts_is_that_of_the_experiments():
    assert (EXPERIMENTS / "README.md").read_text() == index(EXPERIMENTS)
