"""The table of all verdicts."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from ablate.words.opening import graded
from lab.index import index

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def folder(tmp_path):
    for name in ("position_formula", "preln_vs_postln"):
        (tmp_path / name).mkdir()
        shutil.copy(EXPERIMENTS / name / "verdict.json", tmp_path / name)
    return tmp_path


def test_every_claim_has_a_row_with_its_verdict(folder):
    lines = index(folder).splitlines()
    verdicts = [json.loads(path.read_text()) for path in folder.glob("*/verdict.json")]
    given = Counter(
        graded(claim["verdict"], claim["grade"])
        for verdict in verdicts
        for claim in verdict["claims"]
    )
    assert min(given["supported"], given["refuted"]) > 0
    for verdict, count in given.items():
        assert sum(f"| {verdict} |" in line for line in lines) == count
    assert any("artificial language, model micro, not trained" in line for line in lines)
    judged = json.loads((folder / "preln_vs_postln" / "verdict.json").read_text())
    claim = next(claim for claim in judged["claims"] if claim["interval"])
    assert any(claim["statement"] in line and claim["evidence"] in line for line in lines)


def test_the_table_is_written_beside_the_experiments(folder, laboratory):
    assert laboratory("index", folder)[0] == 0
    assert (folder / "README.md").read_text() == index(folder)


def test_a_folder_without_verdicts_is_named(laboratory, tmp_path):
    status, _, err = laboratory("index", tmp_path / "nowhere")
    assert status == 2
    assert "nowhere has no experiment with a verdict.json" in err


def test_what_fresh_seeds_said_stands_beside_a_verdict_with_its_rule(folder):
    assert "resh seeds" not in index(folder)
    shutil.copytree(EXPERIMENTS / "dot_products", folder / "dot_products")
    page = index(folder)
    assert page.count("| supported, large enough to matter; fresh seeds: reproduced |") == 1
    assert page.count("; fresh seeds: reproduced |") == 2  # of the claims that are not exact
    assert "Not reproduced: every other outcome." in page
