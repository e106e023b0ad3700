"""Files that each source's library wrote give the verdict of the CSV, to the last digit."""

import json
import math
import sys

import pandas as pd
import pytest
from pytorch_lightning.loggers import CSVLogger
from torch.utils.tensorboard import SummaryWriter

import ablate
from ablate.errors import UserError
from ablate.evidence.foreign import source
from ablate.evidence.foreign.wandb_api import read_project
from ablate.referee.reading import read_question

ASKED = {"metric": "val_loss", "better": "lower", "baseline": "relu", "margin": 0.004}
FORMATS = ("csv", "tsv", "semicolons", "jsonl", "frame", "parquet")


def verdict_of(runs, arm="variant", **asked):
    """The claims of a verdict without what is said of the source."""
    claims = ablate.compare(runs, arm=arm, **{**ASKED, **asked}).to_dict()["claims"]
    return [{k: v for k, v in claim.items() if k != "trust"} for claim in claims]


@pytest.fixture
def expected(runs_csv):
    return verdict_of(runs_csv)


def written(form, records, folder):
    frame, path = pd.DataFrame(records), folder / f"runs.{form}"
    if form == "frame":
        return frame
    if form in ("csv", "tsv", "semicolons"):
        path = folder / ("runs.tsv" if form == "tsv" else "table.csv")
        separators = {"csv": ",", "tsv": "\t", "semicolons": ";"}
        frame.to_csv(path, sep=separators[form], index=False)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in records))
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_tables(form, records, tmp_path, expected):
    assert verdict_of(written(form, records, tmp_path)) == expected


def test_a_data_frame_is_read_in_pieces(records, monkeypatch, expected):
    monkeypatch.setattr("ablate.evidence.foreign.frame.CHUNK", 4)
    assert len(records) > 8
    assert verdict_of(pd.DataFrame(records)) == expected


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
    assert verdict_of(f"tensorboard://{events}", "folder_1", run="run", step="_step") == expected


def test_all_scalars_of_tensorboard_count(tmp_path):
    with SummaryWriter(tmp_path / "long") as writer:
        for step in range(12_345):
            writer.add_scalar("loss", float(step), step)
    table = source.read(tmp_path, ["_step"])
    assert table.rows == 12_345
    assert math.fsum(table.columns["loss"].numbers) == 12_344 * 12_345 / 2


def flipped(content):
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


@pytest.mark.parametrize("spoil", [lambda c: c[:-1], lambda c: c[:-7], lambda c: c[:-30], flipped])
def test_a_damaged_event_file_counts_up_to_its_last_whole_record(tmp_path, spoil):
    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(10):
            writer.add_scalar("loss", 10.0 - step, step)
    (path,) = (tmp_path / "run").iterdir()
    path.write_bytes(spoil(path.read_bytes()))
    table = source.read(tmp_path, ["_step"])
    assert table.columns["loss"].numbers.tolist() == [10.0 - step for step in range(9)]
    assert len(table.notes) == 1


def test_without_tensorboard_the_message_says_what_to_install(events, monkeypatch):
    reader = "tensorboard.backend.event_processing.event_accumulator"
    monkeypatch.setitem(sys.modules, reader, None)
    with pytest.raises(UserError, match=r"pip install 'ablate\[tensorboard\]'"):
        source.read(events)


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
    assert verdict_of(f"lightning://{tmp_path}/logs", run="run", step="step") == expected


def test_a_metrics_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "metrics.csv").write_text("step,loss\n1,2\n", encoding="utf-8-sig")
    assert source.read(tmp_path, ["step"]).numbers("step", "step").tolist() == [1]


def test_runs_of_lightning_behind_links_count_once(tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        (tmp_path / "real" / name).mkdir(parents=True)
        (tmp_path / "real" / name / "metrics.csv").write_text(f"step,loss\n1,{value}\n")
    root = tmp_path / "logs"
    root.mkdir()
    (root / "x").symlink_to(tmp_path / "real" / "a")
    assert source.read(root).numbers("loss", "metric").tolist() == [1]
    (root / "circle").symlink_to(root)
    (root / "y").mkdir()
    (root / "y" / "metrics.csv").write_text("step,loss\n1,3\n")
    (root / "latest").symlink_to(root / "y")
    table = source.read(root)
    assert table.column("run", "run").labels()[1] == ["x", "y"]
    assert table.numbers("loss", "metric").tolist() == [1, 3]


def test_long_integers_are_numbers_in_a_column_of_numbers_and_names_elsewhere(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("arm,flops\n12345678901234567,1e15\n12345678901234568,2000000000000000000\n")
    table = source.read(path)
    assert table.numbers("flops", "metric").tolist() == [1e15, 2e18]
    assert table.column("arm", "arm").labels()[1] == ["12345678901234567", "12345678901234568"]


@pytest.mark.parametrize(
    ("runs", "part"),
    [
        (pd.DataFrame({"seed": [1, 2], "x": [1, 2]}).set_index("seed", drop=False), "two columns"),
        ([{"seed": 1, "x": 2}], r"of type list.*pandas\.DataFrame"),
        (None, "of type NoneType"),
    ],
)
def test_runs_that_are_no_table_are_refused(runs, part):
    with pytest.raises(UserError, match=part):
        ablate.compare(runs, metric="x", better="lower", target=1)


@pytest.mark.parametrize("part", ["3", "30,", "30,,0.", "30,,0.8,\n"])
def test_part_of_a_row_that_a_killed_process_left_does_not_count(tmp_path, part):
    path = tmp_path / "metrics.csv"
    path.write_text(f"step,train_loss,val_loss\n10,,0.9\n20,0.4,\n{part}")
    table = source.read(tmp_path)
    values = {name: table.numbers(name, "metric")[0] for name in ("train_loss", "val_loss")}
    assert values == {"train_loss": 0.4, "val_loss": 0.9}
    assert table.notes == (f"The last row of {path} is incomplete, and does not count.",)
    path.write_text(path.read_text().strip() + "\n40,0.1,0.2\n")
    if part != "30,,0.":
        with pytest.raises(UserError, match="row 3: it has . cells, but the header has 3"):
            source.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("runs.jsonl", b"[" * 5_000 + b"]" * 5_000, "nested too deeply"),
        ("runs.jsonl", b'{"a":' * 900 + b"1" + b"}" * 900, "nested too deeply"),
        ("runs.ndjson", b'{"a": 1}\n{"\xe4": 2}\n', "line 2 has the byte 0xe4"),
        ("runs.jsonl", '{"a": 1}'.encode("utf-16"), "line 1 has the byte 0xff"),
    ],
)
def test_lines_that_no_parser_takes_are_named(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as error:
        source.read(tmp_path / name)
    assert name in str(error.value) and part in str(error.value)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"[" * 5_000, "nested too deeply"),
        (b"metric: loss\nbetter: \xe4\n", "line 2 has the byte 0xe4"),
        ("metric: loss\n".encode("utf-16"), "line 1 has the byte 0xff"),
        (b"metric: [\n", "YAML"),
    ],
)
def test_a_yaml_file_that_no_parser_takes_is_named(tmp_path, content, part):
    path = tmp_path / "question.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_question(path)
    assert path.name in str(error.value) and part in str(error.value)
    assert "\n" not in str(error.value)


class RecordedRun:
    """A run as `wandb.Api().runs` gives it: recorded from the public API."""

    def __init__(self, number, row):
        self.id, self.name, self.group, self.job_type = f"r{number}", f"run {number}", "g", None
        self.state, self.created_at = "finished", "2026-05-01T12:00:00Z"
        self.config = {"variant": row["variant"], "seed": row["seed"], "_wandb": {"v": 1}}
        self.summary_metrics = {"val_loss": row["val_loss"], "_step": 1, "_wandb": {"runtime": 1}}
        self.history = [{"val_loss": 9.0, "_step": 0}, {"val_loss": row["val_loss"], "_step": 1}]

    def scan_history(self):
        return iter(self.history)


class RecordedApi:
    def __init__(self, records):
        self.recorded = [RecordedRun(number, row) for number, row in enumerate(records)]

    def runs(self, path, filters):
        if path != "me/project":
            raise ValueError(f"Could not find project {path}")
        return self.recorded if filters in ({}, {"group": "g"}) else []


@pytest.fixture
def api(records, monkeypatch):
    recorded = RecordedApi(records)
    monkeypatch.setattr("ablate.wandb.connection.connect", lambda: recorded)
    return recorded


@pytest.mark.parametrize("place", ["me/project", "me/project/g", "me/project/"])
def test_a_project_of_wandb_by_recorded_answers(api, place, expected):
    assert verdict_of(f"wandb://{place}") == expected
    assert verdict_of(f"wandb://{place}", run="run", step="_step") == expected


@pytest.mark.parametrize("place", ["me", "me/other", "me/project/nobody", ""])
def test_what_wandb_does_not_have_is_one_sentence(api, place):
    with pytest.raises(UserError) as error:
        verdict_of(f"wandb://{place}")
    assert "\n" not in str(error.value)


def test_numbers_that_wandb_writes_as_words_are_numbers(records):
    api = RecordedApi(records)
    api.recorded[0].summary_metrics["val_loss"] = "NaN"
    api.recorded[1].summary_metrics["val_loss"] = "Infinity"
    column = read_project(api, "me/project").columns["val_loss"]
    assert column.texts == []
    assert math.isnan(column.numbers[0]) and math.isinf(column.numbers[1])


def test_without_a_key_of_wandb_the_command_says_what_to_do(ablate_command, monkeypatch, tmp_path):
    monkeypatch.setattr("ablate.wandb.connection.has_key", lambda: False)
    words = ["--arm", "a", "--metric", "m", "--better", "lower", "--baseline", "b"]
    status, out, err = ablate_command("compare", "wandb://me/project", *words)
    assert (status, out) == (2, "")
    assert "wandb login" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["nothing.csv", "runs.xlsx", "folder", "hdfs://runs", "runs"])
def test_a_source_that_nothing_reads_is_one_sentence(tmp_path, name, ablate_command):
    (tmp_path / "folder").mkdir()
    (tmp_path / "runs.xlsx").write_text("x")
    place = name if "://" in name else tmp_path / name
    words = ["--arm", "a", "--metric", "m", "--better", "lower", "--baseline", "b"]
    status, out, err = ablate_command("compare", place, *words)
    assert (status, out, len(err.splitlines())) == (2, "", 1)


@pytest.mark.parametrize("lines", ["{", "[1]", '{"a": 1}\n3'])
def test_malformed_lines_of_json_name_their_number(tmp_path, lines):
    path = tmp_path / "runs.jsonl"
    path.write_text(lines)
    with pytest.raises(UserError, match=f"line {lines.count(chr(10)) + 1}:"):
        source.read(path)


def test_cells_are_read_alike_in_text_and_in_json(tmp_path):
    cells = ["1", "1.0", "1e-3", "true", "False", "", "nan", "inf", "a b", "none"]
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{cell},0\n" for cell in cells))
    plain = [1, 1.0, 1e-3, True, False, None, math.nan, math.inf, "a b", "none"]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"x": c, "y": 0}) + "\n" for c in plain))
    text, objects = (source.read(tmp_path / f"t.{end}").columns["x"] for end in ("csv", "jsonl"))
    assert text.labels()[0].tolist() == objects.labels()[0].tolist()
    assert text.labels()[1] == objects.labels()[1]


def test_a_space_before_a_quotation_mark_is_no_part_of_the_cell(tmp_path):
    (tmp_path / "t.csv").write_text('arm, "loss"\n"a, b", 1\n"5"" disk", "2"\n')
    table = source.read(tmp_path / "t.csv")
    assert table.columns["arm"].texts == ["a, b", '5" disk']
    assert table.numbers("loss", "metric").tolist() == [1, 2]
