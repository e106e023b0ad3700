"""The run by which W&B shows the end of a sweep."""

import json
import shutil

import pytest
from omegaconf import OmegaConf
from PIL import Image

from ablate.cli.main import main
from ablate.evidence.folder import Evidence
from ablate.record.files import seal, write_json
from ablate.wandb import analysis as logged
from ablate.wandb.analysis import log_analysis
from ablate.wandb.connection import advise_sync
from ablate.words.answer import graded

ARMS = {"relu": 3.5, "swiglu": 3.0}
UNSAID = dict.fromkeys(("entity", "name", "group", "notes"))
LOGGER = {"project": "ablate", **UNSAID, "tags": [], "mode": "offline", "_target_": logged.LOGGER}


@pytest.fixture
def log(swept, tmp_path, monkeypatch):
    """Log the analysis of a copy of the sweep; return its folder."""
    monkeypatch.setattr(logged, "figures", lambda *_: ())
    folder = tmp_path / swept.name
    shutil.copytree(swept, folder, ignore=shutil.ignore_patterns("wandb"))

    def went(**logger):
        config = OmegaConf.create({"logger": {**LOGGER, **logger} if logger else None})
        verdict = json.loads((folder / "verdict.json").read_text())
        log_analysis(config, Evidence.load(folder), verdict, folder)
        return folder

    return went


def table(run, name):
    """The rows of a table, as W&B has them."""
    stored = json.loads((run.media / run.summary_metrics[f"{name}.path"]).read_text())
    return [dict(zip(stored["columns"], row, strict=True)) for row in stored["data"]]


def test_it_is_a_run_of_the_group_that_says_the_verdict(analysis, swept):
    verdict = json.loads((swept / "verdict.json").read_text())
    claims = {claim["id"]: claim for claim in verdict["claims"]}
    assert (analysis.group, analysis.name) == (
        "sinusoidal_vs_learned_multi30k",
        "sinusoidal_vs_learned_multi30k: analysis",
    )
    assert set(analysis.tags) == set(claims)
    assert analysis.records["exit"][0]["exit_code"] == 0
    assert analysis.config["regime"]["data"] == "toy"
    for name, claim in claims.items():
        words = graded(claim["verdict"], claim["grade"])
        assert analysis.summary_metrics[f"verdict/{name}"] == words
        assert analysis.summary_metrics[f"effect/{name}"] == claim["effect"]
        low, high = claim["interval"]
        assert analysis.summary_metrics[f"low/{name}"] == low
        assert analysis.summary_metrics[f"high/{name}"] == high


def test_its_tables(analysis, swept):
    verdict = json.loads((swept / "verdict.json").read_text())
    claims = [row["Claim"] for row in table(analysis, "tables/estimates")]
    assert all(
        claim["statement"] in row for claim, row in zip(verdict["claims"], claims, strict=True)
    )
    assert [row["Arm"] for row in table(analysis, "tables/arms")] == [
        arm["label"] for arm in verdict["arms"]
    ]


def test_its_figures_and_evidence(analysis, swept):
    shown = {path.stem for path in (swept / "figures").glob("*.svg")}
    for name in shown:
        path = analysis.media / analysis.summary_metrics[f"figures/{name}.path"]
        assert Image.open(path).convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    (made,) = (made for made in analysis.artifacts if made.type == "evidence")
    assert made.name == "sinusoidal_vs_learned_multi30k-evidence:v0"
    files = {file["path"] for file in made.contents}
    evidence = {"study.json", "registered.json", "runs.jsonl", "statistics.npz"}
    assert files == {*evidence, "verdict.json"}


def test_a_failure_of_wandb_costs_one_line(log, capsys, monkeypatch):
    folder = log(mode="online")  # nobody is logged in
    assert capsys.readouterr().out.count("W&B has no analysis") == 1

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr(logged, "bundle", broken)
    log(mode="offline")
    printed = capsys.readouterr().out
    assert "OSError: no space left" in printed
    assert (folder / "verdict.json").exists()


def test_a_comparison_of_a_table_is_logged_like_a_sweep(tmp_path, monkeypatch, read_offline):
    rows = [f"{arm},{seed},{x + seed / 100}" for arm, x in ARMS.items() for seed in range(5)]
    (tmp_path / "runs.csv").write_text("\n".join(["arm,seed,loss", *rows]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    asked = ("--arm=arm", "--metric=loss", "--better=lower", "--pair=seed", "--baseline=relu")
    words = ["ablate", "compare", "runs.csv", *asked, "logger=wandb"]
    monkeypatch.setattr("sys.argv", words)
    main()
    (folder,) = tmp_path.glob("wandb/offline-run-*")
    run = read_offline(folder)
    (effect,) = (key for key in run.summary_metrics if key.startswith("effect/"))
    assert run.job_type == "analysis"
    assert run.summary_metrics[effect.replace("effect", "verdict")] == "undecided"
    assert run.summary_metrics[effect] == pytest.approx(0.5)
    assert len(table(run, "tables/estimates")) == 1
    assert any(key.startswith("figures/effects") for key in run.summary_metrics)


def test_a_sweep_says_how_to_upload_its_runs_until_they_are_uploaded(tmp_path):
    sweep, run = tmp_path / "sweeps" / "mine" / "now", tmp_path / "runs" / "0123456789abcdef"
    link = {"cell": 0, "levels": {}, "status": "finished", "folder": str(run)}
    write_json(sweep / "cells" / "0000.json", seal(link))
    assert advise_sync(sweep) == ""
    offline = run / "wandb" / "offline-run-1-x"
    offline.mkdir(parents=True)
    assert f"wandb sync {tmp_path}/runs/*/wandb/offline-run-*" in advise_sync(sweep)
    (offline / "run-x.wandb.synced").touch()
    assert advise_sync(sweep) == ""
