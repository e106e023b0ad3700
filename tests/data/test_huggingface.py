"""Data sets by the package `datasets`: local JSONL and Parquet, streamed or not, no network."""

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("datasets", reason="the extra huggingface is not installed")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
LINES = {
    "train": [("a cat", "eine Katze"), ("a dog\u2028", "ein Hund"), ("säge", "saw")],
    "validation": [("one", "eins"), ("two", "zwei")],
    "test": [("three", "drei")],
}


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def rows(split, text=lambda en, de: f"{en}\n{de}"):
    return [
        {"text": text(*pair), "translation": dict(zip(("en", "de"), pair, strict=True)), "n": 1}
        for pair in LINES[split]
    ]


@pytest.fixture
def written(tmp_path):
    """The data set in files of a format, one for each split."""

    def write(kind, rows=rows):
        files = {split: str(tmp_path / f"{split}.{kind}") for split in LINES}
        for split, path in files.items():
            if kind == "parquet":
                parquet.write_table(pyarrow.Table.from_pylist(rows(split)), path)
            else:
                text = "".join(json.dumps(row) + "\n" for row in rows(split))
                Path(path).write_text(text, encoding="utf-8")
        return files

    return write


@pytest.fixture
def made(tmp_path):
    """Build one of the two corpora; keys as in their YAML."""

    def make(kind, **changes):
        from ablate.data.huggingface import HuggingFace, HuggingFacePairs

        keys = dict(
            path="json",
            name=None,
            data_files=None,
            revision=None,
            streaming=False,
            train="train",
            validation="validation",
            test="test",
            download_to=str(tmp_path / "cache"),
        )
        fields = (
            dict(field="text")
            if kind == "text"
            else dict(
                source="en",
                target="de",
                source_field="translation.en",
                target_field="translation.de",
            )
        )
        corpus = HuggingFace if kind == "text" else HuggingFacePairs
        return corpus(**keys | fields | changes)

    return make


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("kind", "path"), [("jsonl", "json"), ("parquet", "parquet")])
def test_texts_and_pairs_are_read(written, made, kind, path, streaming):
    given = dict(path=path, data_files=written(kind), streaming=streaming)
    text, pairs = made("text", **given), made("pairs", **given)
    for split in LINES:
        assert list(text.read(split).tgt) == [row["text"] for row in rows(split)]
        assert list(zip(*pairs.read(split), strict=True)) == LINES[split]
        src = pairs.read(split).src
        assert len(src) == len(LINES[split])
        assert src[0] == LINES[split][0][0] and src[:2] == [s for s, _ in LINES[split]][:2]
    assert text.languages == ("", "und") and pairs.languages == ("en", "de")


@pytest.mark.parametrize("streaming", [False, True])
def test_a_text_such_as_na_in_a_csv_file_is_a_text(made, tmp_path, streaming):
    path = tmp_path / "rows.csv"
    path.write_text("text,n\nNA,1\nnull,2\na cat,3\n", encoding="utf-8")
    files = dict.fromkeys(LINES, str(path))
    corpus = made("text", path="csv", data_files=files, streaming=streaming)
    assert list(corpus.read("train").tgt) == ["NA", "null", "a cat"]


def test_parts_of_one_split(written, made):
    files = {"train": written("jsonl")["train"]}
    corpus = made(
        "text", data_files=files, train="train[:1]", validation="train[1:2]", test="train[2:]"
    )
    assert [len(corpus.read(split).tgt) for split in corpus.splits] == [1, 1, 1]


def test_the_fingerprint_follows_content_format_splits_and_fields(written, made):
    files = written("jsonl")
    prints = [made("text", data_files=files).fingerprint()]
    assert made("text", data_files=files, streaming=True).fingerprint() == prints[0]
    prints.append(made("text", data_files=files, test="validation").fingerprint())
    prints.append(made("text", data_files=files, field="translation.en").fingerprint())
    prints.append(made("pairs", data_files=files).fingerprint())
    prints.append(made("text", path="text", data_files=files).fingerprint())
    with open(files["train"], "a", encoding="utf-8") as file:
        file.write(json.dumps(rows("test")[0]) + "\n")
    prints.append(made("text", data_files=files).fingerprint())
    assert len(set(prints)) == len(prints)


def test_changed_text_is_read_even_if_the_file_has_the_same_time(made, tmp_path):
    path = tmp_path / "train.jsonl"
    for text in ("old", "new"):
        path.write_text(json.dumps({"text": text}), encoding="utf-8")
        os.utime(path, (1e9, 1e9))
        assert list(made("text", data_files={"train": str(path)}).read("train").tgt) == [text]
