"""A level that failed is equal to none, also where it failed on both sides."""

import json
import sys

import pytest

from lab.bench import same_numbers
from lab.bench.same_numbers import _difference, main, read_cells


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


def _cell(loss, **metrics):
    return {"status": "finished", "metrics": {"val/nll": loss, **metrics}, "translations": []}


@pytest.mark.parametrize("loss, status", [(1.5, 0), (1.5000001, 1)])
def test_options_are_compared_alone_if_a_checkout_refuses_their_group(
    monkeypatch, capsys, tmp_path, loss, status
):
    def runs(checkout, sweep, work):
        if "," in sweep or sweep == "loss=refused":
            return {}
        return {"the only one": _cell(loss) if checkout.name == "after" else _cell(1.5, heads=2.0)}

    monkeypatch.setattr(same_numbers, "_runs", runs)
    monkeypatch.setattr(same_numbers, "_sweeps", lambda checkout: ["loss=nll,refused"])
    monkeypatch.setattr(sys, "argv", ["", "before", "after", "--work", str(tmp_path)])
    assert main() == status
    assert ("1.5 and 1.5000001" in capsys.readouterr().out) == bool(status)
