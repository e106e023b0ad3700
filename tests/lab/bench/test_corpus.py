"""Memory and speed of corpora, on small ones."""

import json
import subprocess
import sys

import pytest

from lab.bench.corpus import PHASES, generate


@pytest.mark.slow
def test_memory_and_speed_of_all_phases_are_kept_for_later(tmp_path):
    out = tmp_path / "figures.json"
    options = ["pairs=6000", "small=4000", f"folder={tmp_path}", f"out={out}"]
    done = subprocess.run(
        [sys.executable, "-m", "lab.bench.corpus", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(out.read_text())
    assert figures == json.loads(done.stdout.splitlines()[-1])
    assert (figures["small"], figures["pairs"]) == (4000, 6000)
    assert figures.keys() - {"small", "pairs"} == PHASES.keys()
    for phase in ("build", "pass"):
        pairs = figures[phase]["pairs_per_second"] * figures[phase]["seconds"]
        assert 3800 <= pairs <= 6000  # less what validation and test take, and what is too long
    for phase in PHASES:
        assert figures[phase]["own_mib"] > 0
    assert list(tmp_path.iterdir()) == [out]  # the text and the caches are gone


def test_a_pass_goes_through_what_was_built(tmp_path):
    generate(tmp_path, 4000, seed=1)
    assert PHASES["build"](tmp_path)["pairs"] == 4000
    assert PHASES["pass"](tmp_path)["pairs"] == 2000  # validation and test take the rest
