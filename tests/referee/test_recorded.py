"""Four tables of runs from elsewhere, three designs from four sources, keep their answers.

recorded.json has verdict, effect, interval and p-values of every question, as they were computed on
29 November 2026, before the two pipelines became one.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import ablate

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())
DESIGNS = {
    "paired": {"treatment": "b", "baseline": "a", "pair": "seed"},
    "unpaired": {"treatment": "b", "baseline": "a"},
    "one-sample": {"treatment": "b", "target": 2.9},
}
SOURCES = ("csv", "jsonl", "logs", "wandb")
# seeds without a value: so many that their rates could decide, or so few that they could not
FAILED = {("csv", "a"): (1, 3, 5, 7), ("csv", "b"): (2,), ("wandb", "a"): (3, 7)}
QUESTIONS = {
    "any difference": {},
    "margin": {"margin": 0.05},
    "same": {"kind": "equivalence", "margin": 0.15},
    "no worse": {"kind": "non_inferiority", "margin": 0.1},
    "other test": {"margin": 0.05},  # corrected for skewness, or not, against the default
    "left out": {"margin": 0.05, "missing": "leave_out"},
    "stability": {"kind": "stability"},
    "every run": {"kind": "exact", "tolerance": 0.3},
    "trend": {"kind": "trend", "over": "width", "scale": "log"},
}


def rows(design, source):
    """Runs of two arms with unequal numbers and skewed noise; some have no value."""
    random = np.random.default_rng([*DESIGNS].index(design) * 10 + SOURCES.index(source))
    for arm, count, mean in (("a", 12, 3.0), ("b", 12 if design == "paired" else 9, 2.88)):
        for seed in range(count):
            noise = 0.03 * random.exponential() + 0.06 * random.standard_normal()
            loss = float(np.float32(mean + noise))
            failed = seed in FAILED.get((source, arm), ())
            width = (64, 128, 256)[seed % 3]
            yield {"arm": arm, "seed": f"{seed:02}", "width": width, "loss": loss, "failed": failed}


@pytest.fixture
def table(request, tmp_path, write_events, wandb_project):
    """The source of the runs of a design, and the columns of arm, pair and width."""
    design, source = request.param
    runs = [*rows(design, source)]
    names = {"arm": "arm", "seed": "seed", "width": "width"}
    if source == "csv":
        lines = [
            f"{r['arm']},{r['seed']},{r['width']},{'' if r['failed'] else repr(r['loss'])}"
            for r in runs
        ]
        (tmp_path / "runs.csv").write_text("\n".join(["arm,seed,width,loss", *lines]) + "\n")
        return design, source, tmp_path / "runs.csv", names
    if source == "jsonl":
        lines = [{**r, "loss": math.nan if r["failed"] else r["loss"]} for r in runs]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / "runs.jsonl").write_text(text)
        return design, source, tmp_path / "runs.jsonl", names
    if source == "wandb":
        settings = ({key: r[key] for key in names} for r in runs)
        results = ({"loss": "NaN" if r["failed"] else r["loss"]} for r in runs)
        wandb_project(zip(settings, results, strict=True))
        return design, source, "wandb://me/project", names
    for r in runs:
        folder = tmp_path / r["arm"] / r["seed"]
        points = [("loss", 0, 9.0), ("width", 0, r["width"]), ("loss", 5, r["loss"])]
        if design == "unpaired":
            folder.mkdir(parents=True)
            text = f"step,width,loss\n0,{r['width']},9.0\n5,,{r['loss']!r}\n"
            (folder / "metrics.csv").write_text(text)
        else:
            write_events(folder, 100, points)
    return design, source, tmp_path, {"arm": "folder_1", "seed": "folder_2", "width": "width"}


def asked(design, names, question):
    """The arguments of `ablate.compare` for a question; None if the design cannot answer it."""
    keys = {**DESIGNS[design], **QUESTIONS[question]}
    if (keys.get("kind"), design) in (("stability", "one-sample"), ("exact", "unpaired")):
        return None
    if keys.get("kind") == "trend":
        keys = {key: value for key, value in keys.items() if key not in ("target", "baseline")}
        keys.pop("pair", None)
    if question == "other test":
        keys["test"] = "textbook" if design == "paired" else "corrected"
    if "pair" in keys:
        keys["pair"] = names["seed"]
    if "over" in keys:
        keys["over"] = names["width"]
    return {"arm": names["arm"], "metric": "loss", "better": "lower", **keys}


def answers(design, source, runs, names):
    """Verdict, effect, interval and p-values of each question about a table."""
    for question in QUESTIONS:
        if (keys := asked(design, names, question)) is not None:
            (claim,) = ablate.compare(runs, **keys).to_dict()["claims"]
            numbers = {key: claim[key] for key in ("verdict", "grade", "effect", "interval", "p")}
            yield f"{design}, {source}: {question}", numbers


TABLES = (("paired", "csv"), ("unpaired", "jsonl"), ("one-sample", "logs"), ("paired", "wandb"))


@pytest.mark.parametrize("table", TABLES, indirect=True, ids=" ".join)
def test_a_table_keeps_its_answers(table):
    for name, numbers in answers(*table):
        before = RECORDED[name]
        assert numbers["verdict"] == before["verdict"], name
        assert numbers["grade"] == before["grade"], name
        assert numbers["effect"] == pytest.approx(before["effect"], rel=1e-9), name
        assert numbers["interval"] == pytest.approx(before["interval"], rel=1e-9), name
        assert numbers["p"] == pytest.approx(before["p"], rel=1e-9), name
