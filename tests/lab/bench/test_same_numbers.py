"""A level that failed is equal to none, also where it failed on both sides."""

import json

from lab.bench.same_numbers import _difference, read_cells


def test_a_cell_that_failed_is_told_and_not_left_out(tmp_path):
    cells = tmp_path / "sweeps" / "name" / "1" / "cells"
    cells.mkdir(parents=True)
    ended = {"status": "finished", "metrics": {"val/nll": 1.5}, "seconds": {"training": 2.0}}
    for number, cell in enumerate((ended, {"status": "failed", "error": "ValueError"})):
        overrides = ["seed=1", f"loss={number}"]
        (cells / f"{number:04}.json").write_text(json.dumps({"overrides": overrides, **cell}))
    results = read_cells(tmp_path)
    assert results.keys() == {"loss=0", "loss=1"}
    assert _difference(results["loss=0"], results["loss=0"]) == ""
    assert _difference(results["loss=1"], results["loss=1"]) == "failed before, failed after"
