"""Large tables: memory and work grow with the rows, by no more than a little for each."""

import cProfile
import pstats
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import ablate
from ablate.evidence.foreign import builder, source

ROWS = (5_000, 15_000)
ASKED = {"arm": "variant", "metric": "loss", "better": "lower", "baseline": "a"}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Two tables of an arm, a seed, a setting, a state and a loss; some runs have no loss."""
    monkeypatch.setattr(builder, "CHUNK", 1_000)
    random, paths = np.random.default_rng(0), []
    for rows in ROWS:
        frame = pd.DataFrame({"variant": random.choice(["a", "b", "a_longer_name"], rows)})
        frame["seed"] = random.integers(0, 50_000, rows)
        frame["lr"] = random.choice([1e-3, 3e-4], rows)
        frame["loss"] = np.round(3.28 + 0.001 * random.standard_normal(rows), 5)
        frame.loc[random.random(rows) < 0.01, "loss"] = np.nan
        frame["state"] = random.choice(["finished", "stopped"], rows)
        paths.append(tmp_path / f"{rows}.csv")
        frame.to_csv(paths[-1], index=False)
    ablate.compare(paths[0], **ASKED)  # loads what is loaded once
    return paths


def per_row(measure, tables):
    first, second = map(measure, tables)
    return (second - first) / (ROWS[1] - ROWS[0])


def test_a_verdict_takes_at_most_three_times_the_memory_of_its_file(tables):
    def peak(path):
        tracemalloc.start()
        ablate.compare(path, **ASKED)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return memory

    assert per_row(peak, tables) <= 3 * per_row(lambda path: path.stat().st_size, tables)


def test_no_function_is_called_for_every_cell(tables):
    def calls(path):
        profile = cProfile.Profile()
        profile.runcall(ablate.compare, path, **ASKED)
        return pstats.Stats(profile).total_calls

    assert per_row(calls, tables) <= 5


def test_a_column_of_texts_alone_has_no_numbers_and_one_of_numbers_no_codes(tables):
    columns = source.read(tables[1]).columns
    assert [columns[name].numbers.strides for name in ("variant", "state")] == [(0,), (0,)]
    assert [columns[name].codes.strides for name in ("seed", "lr")] == [(0,), (0,)]
    assert columns["state"].codes.dtype == np.int8
