"""Files that each source's library wrote give the verdict of the CSV, to the last digit."""

import json
import math

import pandas as pd
import pytest
from pytorch_lightning.loggers import CSVLogger
from torch.utils.tensorboard import SummaryWriter

import ablate
from ablate.errors import UserError
from ablate.evidence.sources import read
from ablate.referee.runs import numbers, texts

ASKED = {"metric": "val_loss", "better": "lower", "baseline": "relu", "margin": 0.004}
FORMATS = ("csv.gz", "tsv", "semicolons", "frame", "parquet")
# fields that name the column of the arms
NAMED = ("treatment", "baseline", "arms")


def verdict_of(runs, arm="variant", **asked):
    """The claims of a verdict, without the name of the column of arms."""
    claims = ablate.compare(runs, arm=arm, **{**ASKED, **asked}).to_dict()["claims"]
    return [{k: v for k, v in claim.items() if k not in NAMED} for claim in claims]


@pytest.fixture
def expected(runs_csv):
    return verdict_of(runs_csv)


def written(form, records, folder):
    frame, path = pd.DataFrame(records), folder / f"table.{form}"
    if form == "frame":
        return frame
    if form in ("csv", "csv.gz", "tsv", "semicolons"):
        path = folder / (f"table.{form}" if form != "semicolons" else "table.csv")
        between = {"tsv": "\t", "semicolons": ";"}.get(form, ",")
        frame.to_csv(path, sep=between, index=False)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in records))
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_tables(form, records, tmp_path, expected):
    assert verdict_of(written(form, records, tmp_path)) == expected


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_whole_numbers_stay_whole_beside_an_empty_cell(form, tmp_path):
    rows = [{"seed": 1, "loss": 1.0}, {"seed": None, "loss": 2.0}, {"seed": 10**17 + 1, "loss": 3}]
    path = tmp_path / f"runs.{form}"
    if form == "parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame({"seed": pd.array([row["seed"] for row in rows], "Int64")}).to_parquet(path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("seed,loss\n1,1\n,2\n100000000000000001,3\n")
    assert texts(read(path).frame, "seed").tolist() == ["1", "", "100000000000000001"]


@pytest.fixture
def events(records, tmp_path):
    """Event files of TensorBoard: each run has 5 earlier values, and a tag that is no scalar."""
    root = tmp_path / "logs"
    for row in records:
        with SummaryWriter(root / row["variant"] / f"seed_{row['seed']}") as writer:
            for step in range(5):
                writer.add_scalar("val_loss", 9.0 - step, step)
            writer.add_scalar("val_loss", row["val_loss"], 5)
            writer.add_text("note", "no scalar", 5)
    return root


def test_tensorboard(events, expected):
    assert verdict_of(events, arm="folder_1") == expected
    assert verdict_of(events, "folder_1", run="run", step="_step") == expected


def test_a_run_of_tensorboard_that_diverged_has_no_value(tmp_path, write_events):
    for arm, losses in (("a", [2.0, 1.0]), ("b", [2.0, math.nan])):
        for seed in range(3):
            points = [("loss", step, loss) for step, loss in enumerate(losses)]
            write_events(tmp_path / arm / str(seed), 100, points)
    asked = {"arm": "folder_1", "metric": "loss", "better": "lower", "baseline": "a"}
    for more in ({}, {"run": "run", "step": "_step"}):
        (claim,) = ablate.compare(tmp_path, **asked, **more).to_dict()["claims"]
        assert claim["failed_to_learn"]["b"]["runs"] == 3


@pytest.mark.parametrize("cut", [7, 30])
def test_a_damaged_event_file_counts_up_to_its_last_whole_record(tmp_path, cut):
    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(10):
            writer.add_scalar("loss", 10.0 - step, step)
    (path,) = (tmp_path / "run").iterdir()
    path.write_bytes(path.read_bytes()[:-cut])
    frame = read(tmp_path, ["_step"]).frame
    assert numbers(frame, "loss").tolist() == [10.0 - step for step in range(9)]


def test_lightning(records, tmp_path, expected):
    for row in records:
        logger = CSVLogger(tmp_path / "logs", name=row["variant"], version=row["seed"])
        logger.log_hyperparams({"variant": row["variant"], "optimizer": {"lr": 0.1}})
        for step in range(4):
            logger.log_metrics({"train_loss": 5.0 - step}, step)
        logger.log_metrics({"val_loss": row["val_loss"]}, 4)
        logger.log_metrics({"train_loss": 0.5}, 5)
        logger.save()
    assert verdict_of(tmp_path / "logs") == expected
    assert verdict_of(tmp_path / "logs", run="run", step="step") == expected


@pytest.mark.parametrize("part", ["30,", "30,,0."])
def test_part_of_a_row_that_a_killed_process_left_does_not_count(tmp_path, part):
    path = tmp_path / "metrics.csv"
    path.write_text(f"step,train_loss,val_loss\n10,,0.9\n20,0.4,\n{part}")
    source = read(tmp_path)
    values = {name: numbers(source.frame, name)[0] for name in ("train_loss", "val_loss")}
    assert values == {"train_loss": 0.4, "val_loss": 0.9} and len(source.notes) == 1
    path.write_text(path.read_text().strip() + "\n40,0.1,0.2\n")
    if part != "30,,0.":
        with pytest.raises(UserError, match="row 3"):
            read(tmp_path)


def test_cells_are_read_alike_in_text_and_in_json(tmp_path):
    cells = ["1", "1.0", "1e-3", "true", "", "NaN", "inf", "a b", "none"]
    plain = ["1", "1.0", "1e-3", "true", "null", "NaN", '"inf"', '"a b"', '"none"']
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{cell},0\n" for cell in cells))
    (tmp_path / "t.jsonl").write_text("".join(f'{{"x": {c}, "y": 0}}\n' for c in plain))
    text, objects = (texts(read(tmp_path / f"t.{end}").frame, "x") for end in ("csv", "jsonl"))
    assert text.tolist() == objects.tolist() == cells


VERSIONED = {"arm": "version", "metric": "loss", "better": "lower", "baseline": "1.1"}
VERSIONS = {"1.1": [3.0, 3.1, 3.2], "1.10": [2.0, 2.1, 2.2], "1.2": [1.0, 1.1, 1.2]}


@pytest.mark.parametrize("form", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize("order", [1, -1])
def test_names_that_are_one_number_are_different_arms(form, order, tmp_path):
    named = [*VERSIONS.items()][::order]
    rows = [{"version": name, "loss": loss[k]} for k in range(3) for name, loss in named]
    runs = written(form, rows, tmp_path)
    verdict = ablate.compare(runs, **VERSIONED)
    claims = verdict.to_dict()["claims"]
    assert {c["id"]: c["effect"] for c in claims} == pytest.approx({"1.10": 1, "1.2": 2})
    assert [c["counts"] for c in claims] == [[3, 3], [3, 3]]
    (twins,) = (c["values"] for c in verdict.to_dict()["caveats"] if c["code"] == "twins")
    assert twins == {"column": "version", "names": ["1.1", "1.10"]}
    for treatment in ("1.10", {"version": "1.10"}):
        (claim,) = ablate.compare(runs, treatment=treatment, **VERSIONED).to_dict()["claims"]
        assert claim["effect"] == pytest.approx(1)
    for treatment in (1.10, {"version": 1.10}):
        with pytest.raises(UserError, match=r"1\.1 .*1\.10"):
            ablate.compare(runs, treatment=treatment, **{**VERSIONED, "baseline": "1.2"})


def test_a_number_that_is_written_in_several_ways_elsewhere_is_one_value(tmp_path):
    widths = ((0, "64", "0.10"), (1, "64.0", "0.1"), (2, "6.4e1", "1e-1"))
    lines = [
        f"{arm},{seed},{width},{lr},{loss}"
        for arm, loss in (("a", 1), ("b", 2))
        for seed, width, lr in widths
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["arm,seed,width,lr,loss", *lines]) + "\n")
    asked = {"metric": "loss", "better": "lower"}
    for lr, runs in ((0.1, 3), ("0.10", 1)):
        verdict = ablate.compare(path, arm="arm", baseline="a", where={"lr": lr}, **asked)
        assert verdict.to_dict()["claims"][0]["counts"] == [runs, runs]
    claims = [{"treatment": "b", "baseline": "a", "where": {"lr": 0.1}}]
    (claim,) = ablate.judge(path, {"arm": "arm", **asked, "claims": claims}).to_dict()["claims"]
    assert claim["counts"] == [3, 3]
    trend = {"kind": "trend", "over": "width"}
    verdict = ablate.compare(path, arm="width", target=1.0, treatment="64", **asked)
    assert verdict.to_dict()["claims"][0]["counts"] == [2]
    verdict = ablate.compare(path, **asked, **trend, where={"width": ["64"]})
    assert verdict.to_dict()["runs"] == 2
