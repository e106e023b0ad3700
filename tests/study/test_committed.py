"""Committed evidence belongs to the studies of the experiments, whatever the code is now."""

import re
from pathlib import Path

import pytest

from ablate.evidence.checks import read_about
from ablate.evidence.folder import Evidence
from ablate.evidence.registration import deciding, departures
from lab.calibration.noise import noise
from lab.calibration.simulate import MEASURED

from ..experiments import QUICK, case

ROOT = Path(__file__).resolve().parents[2]
# a path from the root, not part of a word, a relative path or an address
ABSOLUTE = re.compile(r"(?<![\w./:)~*-])/[a-z]+/")
FOLDERS = sorted(path.parent for path in (ROOT / "experiments").glob("*/study.json"))


@pytest.mark.parametrize(
    "folder",
    [
        case(path, path.name)
        for number, path in enumerate(FOLDERS)
        if number % 2 == 0 or path.name in QUICK
    ],
    ids=lambda folder: folder.name,
)
def test_claims_are_those_of_the_runs(folder, compose):
    from ablate.config.screen import expand
    from ablate.sweep.cell import plain_study

    evidence = Evidence.load(folder)
    config = compose(f"+experiment={folder.name}")
    expand(config)
    study = plain_study(config)
    assert deciding(study) == deciding(evidence.study)


@pytest.mark.parametrize("folder", FOLDERS[::5], ids=lambda folder: folder.name)
def test_the_judged_study_is_the_registered_one(folder):
    about = read_about(folder)
    study, rest = about["study"], (about["registration"], about["registered"], [])
    assert departures(study, *rest) == []
    study["claims"][-1] |= {"statement": "Better.", "alpha": study["claims"][-1]["alpha"] / 2}
    (departure,) = departures(study, *rest)
    assert [key.endswith("alpha") for key, *_ in departure["values"]["changes"]] == [True]


def test_the_evidence_is_small_and_speaks_of_no_machine():
    for folder in FOLDERS:
        files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".html"]
        assert sum(path.stat().st_size for path in files) < 1_600_000, folder
        for path in files:
            if path.suffix in (".json", ".jsonl", ".md"):
                assert not ABSOLUTE.findall(path.read_text()), path


@pytest.mark.parametrize(
    ("name", "arms", "measured"),
    [
        ("preln_vs_postln", "post_ln noam - pre_ln noam", "pre_ln - post_ln with warm-up"),
        (
            "preln_vs_postln",
            "post_ln no_warmup - pre_ln no_warmup",
            "pre_ln - post_ln without warm-up, where post_ln varies",
        ),
        (
            "preln_vs_postln_depth",
            "post_ln n_layers=6 - pre_ln n_layers=6",
            "pre_ln - post_ln of six layers, where post_ln fails",
        ),
    ],
)
def test_the_calibration_imitates_the_noise_of_the_evidence(name, arms, measured):
    spreads = noise(Evidence.load(ROOT / "experiments" / name))[arms]
    parts = [spreads[level] for level in ("seed", "sentence", "rest")]
    assert parts == pytest.approx(MEASURED[measured], abs=0.0055)
