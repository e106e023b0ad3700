"""The evidence of a study survives being written and read, and says when it is damaged."""

import numpy as np
import pytest

from ablate.errors import UserError
from ablate.study.evidence import Evidence

RUN = {"cell": 0, "identity": "abc", "levels": {"a": None}, "metrics": {"test/bleu": 1.5}}


@pytest.fixture
def evidence():
    rows = np.arange(40).reshape(4, 10) * 9
    return Evidence(
        name="mine",
        study={"factors": ["a"], "claims": []},
        regime={"data": "toy"},
        registration={"hash": "1"},
        runs=[RUN, {**RUN, "cell": 1, "identity": "def", "metrics": {}}],
        screening=[RUN],
        statistics={"abc": {"test": rows, "test_long": rows[:2]}, "def": {"test": rows + 1}},
    )


def test_what_is_written_is_read(evidence, tmp_path):
    evidence.save(tmp_path)
    found = Evidence.load(tmp_path)
    assert found.runs == evidence.runs
    assert found.screening == evidence.screening
    assert found.study == evidence.study
    assert found.statistics.keys() == evidence.statistics.keys()
    for identity, splits in evidence.statistics.items():
        assert found.statistics[identity].keys() == splits.keys()
        for split, rows in splits.items():
            np.testing.assert_array_equal(found.statistics[identity][split], rows)


def test_twice_the_same_bytes(evidence, tmp_path):
    for name in ("one", "two"):
        evidence.save(tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.parametrize("name", ["study.json", "runs.jsonl", "statistics.npz"])
def test_a_missing_or_damaged_file_is_named(evidence, tmp_path, name):
    evidence.save(tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(UserError, match=rf"{name} cannot be read"):
        Evidence.load(tmp_path)
    path.unlink()
    with pytest.raises(UserError, match=rf"{name} is missing"):
        Evidence.load(tmp_path)
