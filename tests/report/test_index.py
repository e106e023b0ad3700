"""The tables of all experiments with their verdicts."""

import json
import shutil
from pathlib import Path

import pytest

from lab.index import index

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def folder(tmp_path):
    for name in ("position_formula", "preln_vs_postln"):
        (tmp_path / name).mkdir()
        shutil.copy(EXPERIMENTS / name / "verdict.json", tmp_path / name)
    return tmp_path


def test_every_experiment_has_a_row_with_its_answers(folder):
    page = index(folder)
    for path in folder.glob("*/verdict.json"):
        claims = json.loads(path.read_text())["claims"]
        (row,) = [line for line in page.splitlines() if f"({path.parent.name}/report.md)" in line]
        assert claims[0]["statement"] in row
        for verdict in ("supported", "refuted"):
            count = sum(claim["verdict"] == verdict for claim in claims)
            assert (f"{count} {verdict}" in row) == bool(count)
    assert "artificial language, model micro, not trained" in page
    groups = [line for line in page.splitlines() if line.startswith("## ")]
    assert "## Order and positional encoding" in groups and len(groups) == 2


def test_the_table_is_written_beside_the_experiments(folder, laboratory):
    assert laboratory("index", folder)[0] == 0
    assert (folder / "README.md").read_text() == index(folder)


def test_what_fresh_seeds_said_stands_beside_the_answers_with_its_rule(folder):
    assert "resh seeds" not in index(folder)
    shutil.copytree(EXPERIMENTS / "dot_products", folder / "dot_products")
    page = index(folder)
    assert "; fresh seeds: 2 reproduced |" in page  # of the claims that are not exact
    assert "Not reproduced: every other outcome." in page
