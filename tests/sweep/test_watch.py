"""The process that started workers elsewhere shows their cells, and the end of the sweep."""

import pytest

from ablate.engine.base import Engine
from ablate.record.files import seal, write_json
from ablate.record.links import link_path
from ablate.sweep import launch, share
from ablate.sweep.end import end
from ablate.sweep.view import View, watching

MORE = {"wall_seconds": 3.0}


@pytest.fixture
def leave(tmp_path):
    """Leave the end of a cell, as a worker does."""

    def left(number, status, folder="", **more):
        about = {"cell": number, "seed": number, "levels": {}, "overrides": [f"seed={number}"]}
        path = link_path(tmp_path / folder, number)
        write_json(path, seal({**about, "status": status, **MORE, **more}))
        return path

    return left


def test_every_cell_is_shown_once(leave, tmp_path, capsys):
    view = View("toy", 4, works_here=False)
    leave(0, "finished", reused=True)
    leave(1, "failed", error="an earlier try")
    with watching(view, tmp_path, {0: "first", 1: "second", 2: "third"}) as look:
        assert (view.done, view.failed, view.reused) == (1, 0, 1)
        leave(1, "diverged")
        leave(7, "finished", "screening")
        look()
        look()
        leave(2, "failed", error="no luck")
    assert (view.done, view.failed, view.running) == (4, 1, 0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        *("1/4 first", "2/4 seed=7", "3/4 second", "4/4 third")
    ]
    assert "no luck" in lines[-1] and "another worker" not in "".join(lines)


def test_a_damaged_cell_is_left_to_the_workers(leave, tmp_path):
    view = View("toy", 2, works_here=False)
    leave(0, "finished").write_text("{", encoding="utf-8")
    with watching(view, tmp_path, {}):
        pass
    assert view.done == 0


class Elsewhere(Engine):
    """An engine whose workers are elsewhere; this process plays them."""

    def __init__(self, *, workers, parameters, cluster):
        self.workers = workers

    def work(self, here, elsewhere, folder):
        here()


@pytest.mark.slow
def test_an_engine_elsewhere_ends_with_the_table_and_the_verdict(
    command, small, here, monkeypatch, capsys
):
    check = launch._check_end

    def end_as_another_worker(config):
        check(config)
        capsys.readouterr()
        share.conclude(config, end)
        outputs.append(capsys.readouterr().out)

    outputs = []
    monkeypatch.setattr("ablate.engine.submitit.Submitit", Elsewhere)
    monkeypatch.setattr(launch, "_check_end", end_as_another_worker)
    words = ("+experiment=heads_param_count", "model.n_heads=1,2", "seed=1", "-m")
    status, out, error = command(*small, *words, "engine=submitit")
    assert status == 0, error
    assert [out] == outputs
    assert "Supported." in out and "2 heads" in out
