"""The run by which W&B shows the end of a sweep."""

import json
import re
import shutil
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from PIL import Image

from ablate.cli.main import main
from ablate.evidence.folder import Evidence
from ablate.wandb import analysis as logged
from ablate.wandb.analysis import log_analysis
from ablate.words.answer import graded

ARMS = {"relu": 3.5, "swiglu": 3.0}
UNSAID = dict.fromkeys(("entity", "name", "group", "notes"))
LOGGER = {"project": "ablate", **UNSAID, "tags": [], "_target_": logged.LOGGER}


def table(run, name):
    """The rows of a table, as W&B has them."""
    stored = json.loads((run["media"] / run["summary"][f"{name}.path"]).read_text())
    return [dict(zip(stored["columns"], row, strict=True)) for row in stored["data"]]


def test_a_sweep_ends_with_a_run_that_has_verdicts_tables_figures_and_evidence(swept, read_offline):
    (folder,) = swept.glob("wandb/offline-run-*")
    analysis = read_offline(folder)
    verdict = json.loads((swept / "verdict.json").read_text())
    (started,) = analysis["run"]
    assert started["run_group"] == "sinusoidal_vs_learned_multi30k"
    assert started["job_type"] == "analysis"
    assert {*started["tags"]} == {claim["id"] for claim in verdict["claims"]}
    assert analysis["exit"][0]["exit_code"] == 0
    for claim in verdict["claims"]:
        low, high = claim["interval"]
        values = {"effect": claim["effect"], "low": low, "high": high}
        values["verdict"] = graded(claim["verdict"], claim["grade"])
        summary = {key: analysis["summary"][f"{key}/{claim['id']}"] for key in values}
        assert summary == values
    rows = table(analysis, "tables/claims")
    for claim, row in zip(verdict["claims"], rows, strict=True):
        assert claim["statement"] in row["Claim"]
    labels = [arm["label"] for arm in verdict["arms"]]
    assert [row["Arm"] for row in table(analysis, "tables/arms")] == labels
    for path in (swept / "figures").glob("*.svg"):
        image = analysis["media"] / analysis["summary"][f"figures/{path.stem}.path"]
        assert Image.open(image).convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    (made,) = (made for made in analysis["artifact"] if made["type"] == "evidence")
    files = {file["path"] for file in made["manifest"]["contents"]}
    evidence = {"study.json", "registered.json", "runs.jsonl", "statistics.npz"}
    assert files == {*evidence, "verdict.json"}


def test_a_sweep_ends_in_verdicts_and_a_report(swept):
    folder = swept.parents[3]
    printed = (folder / "printed").read_text()
    verdict = json.loads((swept / "verdict.json").read_text())
    assert not verdict["exploratory"]
    for claim in verdict["claims"]:
        assert claim["seeds"] == [0, 1]
        assert claim["evidence"] in printed
    assert (swept / "report.md").read_text().startswith("# Sinusoidal and learned positions")
    assert len((swept / "runs.jsonl").read_text().splitlines()) == 4
    (picture,) = re.findall(r"^picture: (.+)$", printed, re.MULTILINE)
    assert Path(picture).is_file()
    assert list((folder / "work").iterdir()) == []  # nothing outside paths.results


def test_a_failure_of_wandb_costs_one_line(swept, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(logged, "figures", lambda *_: ())
    folder = shutil.copytree(swept, tmp_path / "copy", ignore=shutil.ignore_patterns("wandb"))

    def log(mode):
        config = OmegaConf.create({"logger": {**LOGGER, "mode": mode}})
        verdict = json.loads((folder / "verdict.json").read_text())
        log_analysis(config, Evidence.load(folder), verdict, folder)
        return capsys.readouterr().out

    assert log("online").count("W&B has no analysis") == 1  # nobody is logged in

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr(logged, "bundle", broken)
    assert "OSError: no space left" in log("offline")


def test_a_comparison_of_a_table_is_logged_like_a_sweep(tmp_path, monkeypatch, read_offline):
    rows = [f"{arm},{seed},{x + seed / 100}" for arm, x in ARMS.items() for seed in range(5)]
    (tmp_path / "runs.csv").write_text("\n".join(["arm,seed,loss", *rows]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    asked = ("--arm=arm", "--metric=loss", "--better=lower", "--pair=seed", "--baseline=relu")
    monkeypatch.setattr("sys.argv", ["ablate", "compare", "runs.csv", *asked, "logger=wandb"])
    main()
    (folder,) = tmp_path.glob("wandb/offline-run-*")
    run = read_offline(folder)
    (effect,) = (key for key in run["summary"] if key.startswith("effect/"))
    assert run["run"][0]["job_type"] == "analysis"
    assert run["summary"][effect.replace("effect", "verdict")] == "undecided"
    assert run["summary"][effect] == pytest.approx(0.5)
    assert len(table(run, "tables/claims")) == 1
    assert any(key.startswith("figures/effects") for key in run["summary"])
