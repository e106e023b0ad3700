"""`ablate upload`: finished runs in W&B as their training would have logged them, each once."""

import json
import shutil

import pytest
from omegaconf import OmegaConf

from ablate.evidence.folder import Evidence
from ablate.record.files import write_json
from ablate.record.label import cut
from ablate.wandb.analysis import send_analysis, summary
from ablate.wandb.note import LONGEST_TITLE, NOTE, Place

LONG = "n" * 200
KEYS = ("project", "run_group", "job_type", "display_name", "tags")
SWEEP = ("+experiment=heads_param_count", "model.n_heads=1,2", "seed=1", "-m")
CURVES = ("trainer/global_step", "val/nll", "train/nll")


@pytest.fixture
def offline(tmp_path):
    """Offline folders of W&B in the results, by the id of their run."""

    def read():
        folders = (tmp_path / "results").rglob("offline-run-*")
        return {path.name.rpartition("-")[2]: path.parent.parent for path in folders}

    return read


def shown(recorded, folder, identity):
    """What W&B's own reader says of a run: its names, its curves and its summary."""
    records = recorded(folder, identity)
    (started,) = records["run"]
    curves = [
        {
            key: row["item"][key]
            for key in ("trainer/global_step", "val/nll", "train/nll")
            if key in row["item"]
        }
        for row in records["history"]
    ]
    return {key: started.get(key) for key in KEYS}, [row for row in curves if len(row) > 1]


@pytest.fixture
def train(small, compose, command):
    """Run a single run from the command line."""
    return lambda *words: command(*small, "search=greedy", *words)


def test_a_run_is_uploaded_as_its_training_would_have_logged_it(
    train, command, recorded, summed_up, offline, tmp_path
):
    words = ("model/position=learned", "logger.tags=[mine]", "logger.group=g")
    assert train("logger=wandb", "logger.mode=offline", *words)[0] == 0
    ((identity, folder),) = offline().items()
    expected = shown(recorded, folder, identity), summed_up(folder, identity)["summary"]
    forget(folder)
    for _ in range(2):
        assert command("upload", folder, "mode=offline")[0] == 0
        assert offline() == {identity: folder}
    assert shown(recorded, folder, identity) == expected[0]
    summary = summed_up(folder, identity)["summary"]
    results = {key: value for key, value in expected[1].items() if key.startswith("result/")}
    assert results.items() <= summary.items() and results


def forget(folder):
    """Remove all that W&B has left of a run."""
    shutil.rmtree(folder / "wandb")
    for note in folder.rglob("wandb.json"):
        note.unlink()


@pytest.mark.slow
def test_reused_runs_of_a_sweep_are_uploaded_under_its_name(
    command, small, here, recorded, offline, tmp_path
):
    assert command(*small, *SWEEP)[0] == 0
    status, out, _ = command(*small, *SWEEP, "logger=wandb", "logger.mode=offline")
    assert status == 0 and not set(offline()) & runs(tmp_path)
    sweep = max((tmp_path / "results" / "sweeps" / "heads_param_count").iterdir())
    assert f"ablate upload {sweep}" in out
    status, out, _ = command("upload", sweep, "mode=offline", "tags=a,b", "project=p")
    assert status == 0
    assert runs(tmp_path) <= set(offline())
    names = [shown(recorded, offline()[identity], identity)[0] for identity in runs(tmp_path)]
    assert {name["run_group"] for name in names} == {"heads_param_count"}
    assert {name["project"] for name in names} == {"p"}
    assert len({name["job_type"] for name in names}) == len(names) == 4
    assert all({"a", "b"} < set(name["tags"]) for name in names)
    before = sorted(offline())
    assert command("upload", tmp_path / "results", "mode=offline", "project=p")[0] == 0
    assert sorted(offline()) == before


def runs(tmp_path):
    return {path.name for path in (tmp_path / "results" / "runs").iterdir()}


def test_a_run_that_was_not_logged_says_how_to_upload_it(train, tmp_path):
    words = ("probe=parameter_count", "logger=wandb", "logger.mode=offline")
    assert train("probe=parameter_count")[0] == 0
    status, out, _ = train(*words)
    assert status == 0 and "ablate upload" in out
    assert train(*words, "fresh=true")[0] == 0
    status, out, _ = train(*words)  # logged by now
    assert status == 0 and "ablate upload" not in out


def test_a_run_that_diverged_is_logged_once(train, command, offline, tmp_path):
    words = ("optimizer.lr=1e30", "schedule=constant", "logger=wandb", "logger.mode=offline")
    assert train(*words)[0] == 0
    ((identity, _),) = offline().items()
    status, out, _ = train(*words)
    assert status == 0 and "ablate upload" not in out
    assert command("upload", tmp_path / "results", "mode=offline")[0] == 0
    assert [*offline()] == [identity]


def test_what_cannot_be_uploaded_is_refused(train, command, tmp_path, monkeypatch):
    assert train("probe=parameter_count")[0] == 0
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    for source, *words in (
        (tmp_path / "nothing",),
        (tmp_path,),
        (folder, "mode=loud"),
        (folder, "project=a/b"),
        (folder, f"tags={'t' * 65}"),
        (folder, "mode=online"),
    ):
        status, out, error = command("upload", source, *words)
        assert status == 2 and error.count("\n") == 1 and not out
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (folder / "result.json").write_text(json.dumps(result | {"status": "x"}), encoding="utf-8")
    assert command("upload", folder, "mode=offline")[0] == 2
    assert not (folder / "wandb").exists()


def test_a_failure_of_wandb_keeps_what_is_done(train, command, tmp_path, monkeypatch):
    assert train("probe=parameter_count")[0] == 0

    def broken(*args, **kwargs):
        raise ConnectionResetError("Connection lost")

    with monkeypatch.context() as patch:
        patch.setattr("wandb.init", broken)
        status, _, error = command("upload", tmp_path / "results", "mode=offline")
    assert status == 1 and "ConnectionResetError" in error
    assert command("upload", tmp_path / "results", "mode=offline")[0] == 0


def test_a_run_in_a_group_whose_name_was_cut_is_sent(tmp_path):
    note = {"project": "p", "group": cut(LONG, LONGEST_TITLE), "url": "https://wandb"}
    write_json(tmp_path / NOTE, note)
    place = Place(tmp_path, tmp_path)
    assert [place.state("p", name) for name in (LONG, "n" * 201)] == ["sent", "missing"]


def test_the_analysis_has_the_group_of_its_runs(tmp_path, monkeypatch):
    def start(*_, **about):
        raise InterruptedError(about["group"])

    monkeypatch.setattr("ablate.wandb.analysis.start", start)
    names = dict.fromkeys(("entity", "notes", "group", "name"))
    logger = OmegaConf.create({"mode": "offline", "project": "p", "tags": [], **names})
    evidence = Evidence(LONG, {}, {}, {}, [])
    with pytest.raises(InterruptedError, match=f"^{cut(LONG, LONGEST_TITLE)}$"):
        send_analysis(logger, evidence, {"claims": []}, tmp_path)


def test_the_summary_has_every_reading_of_a_claim():
    alike = {"id": "c", "effect": 1.0, "margin": 0.0, "interval": None}
    verdicts = {"early": "supported", "late": "refuted"}
    claims = [{**alike, "reading": name, "verdict": word} for name, word in verdicts.items()]
    values = summary({"claims": claims})
    assert {key: values[f"verdict/c ({key})"] for key in verdicts} == verdicts
