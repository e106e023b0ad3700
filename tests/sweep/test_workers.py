"""The same command, started several times on one folder, is several workers of one sweep."""

import json
from pathlib import Path
from unittest.mock import Mock

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode
from omegaconf import OmegaConf

from ablate.config.location import CONF
from ablate.errors import UserError
from ablate.evidence.gather import gather
from ablate.record import source
from ablate.record.files import seal, write_json
from ablate.record.links import link_path
from ablate.record.source import source_hash
from ablate.record.training import Record
from ablate.record.types import Fingerprints
from ablate.sweep import share
from ablate.sweep.begin import begin, register_study
from ablate.sweep.cell import Cell, plain_study
from ablate.sweep.launch import n_jobs
from ablate.sweep.planned import Checked, PlannedSweep
from ablate.sweep.pool import CellQueue, Pool
from ablate.sweep.view import View
from ablate.sweep.worker import Worker

NO_CONTEXT = HydraContext(config_loader=Mock(), callbacks=Mock())
EXPERIMENT = ("+experiment=preln_vs_postln", "study.tune=null")


def toy(number, results, training):
    """A cell that takes no work; cells of one training may not run at once."""
    form = {"exclude_keys": [], "item_sep": ",", "kv_sep": "="}
    job = {"config": {"override_dirname": form}}
    node = {"sweep": {"dir": str(results)}, "overrides": {"task": []}, "job": job}
    config = OmegaConf.create({"seed": 0, "paths": {"results": str(results)}, "hydra": node})
    cell = Cell(number, f"cell {number}", (), config)
    cell.__dict__["training"] = str(training)
    return cell


@pytest.fixture
def cells(tmp_path):
    """Six cells, the first two of one training."""
    return [toy(n, tmp_path, training=max(1, n)) for n in range(6)]


def done(cell, sweep, status="finished", **more):
    write_json(link_path(sweep, cell.number), seal({"status": status, "wall_seconds": 1, **more}))


def test_workers_that_race_run_every_cell_once_and_skip_what_others_hold(cells, tmp_path):
    workers, ran = [CellQueue(cells) for _ in range(3)], []
    while taken := [(worker, cell) for worker in workers if (cell := worker.take())]:
        assert len({cell.training for _, cell in taken}) == len(taken)
        for worker, cell in taken:
            done(cell, tmp_path)
            worker.release(cell)
        ran += [cell.number for _, cell in taken]
    assert sorted(ran) == [0, 1, 2, 3, 4, 5]
    for worker in workers:
        assert worker.open == 0
    elsewhere = [{cell.number for cell in worker.done_elsewhere()} for worker in workers]
    assert [len(cells) for cells in elsewhere] == [4, 4, 4]


def test_the_cells_of_a_worker_that_dies_are_dealt_again(cells, tmp_path):
    dies, lives = CellQueue(cells), CellQueue(cells)
    first = [dies.take() for _ in range(2)]
    assert [cell.number for cell in first] == [0, 2]  # 1 is of the same training as 0
    taken = [lives.take().number for _ in range(3)]
    assert taken == [3, 4, 5]
    assert lives.take() is None
    assert lives.open == 3  # to be watched
    del dies
    assert [lives.take().number for _ in range(2)] == [0, 2]


def test_a_run_that_was_told_to_end_is_dealt_again(cells, tmp_path):
    queue = CellQueue(cells[:1])
    cell = queue.take()
    assert queue.open == 0
    queue.release(cell)  # without a link
    assert queue.take() is cell


class Instead(Pool):
    """A pool whose processes end as the test says, in their order."""

    def __init__(self, ends):
        self.ends = iter(ends)

    def run(self, queue, context, started, *, stay):
        while cell := queue.take():
            started()
            yield cell, next(self.ends)(cell)
            queue.release(cell)
        yield from ((cell, None) for cell in queue.done_elsewhere())


@pytest.fixture
def stage(cells, tmp_path):
    """Run one stage of three cells, whose processes end in these ways."""

    context = HydraContext(config_loader=Mock(), callbacks=Mock())

    def ran(*ends, again=True):
        with View("toy", 3) as view:
            paths = {"results": str(tmp_path), "experiments": str(tmp_path / "experiments")}
            config = OmegaConf.create({"name": "toy", "fresh": False, "paths": paths})
            checked = Checked({"text": Fingerprints("read", {})}, 0, {})
            sweep = PlannedSweep(context, config, None, cells, cells, [], {}, checked)
            return Worker(sweep, Instead(ends), view, stay=True).run(cells[:3], again), view

    return ran


def ends_well(sweep):
    return lambda cell: done(cell, sweep) or 0


def test_an_interrupted_run_is_no_failure(stage, tmp_path, capsys):
    well = ends_well(tmp_path)
    links, view = stage(well, lambda cell: 143, well, well)
    assert [link["status"] for link in links] == ["finished"] * 3
    assert (view.running, view.done, view.failed) == (0, 3, 0)


def test_who_joins_runs_again_what_failed_or_is_not_what_it_would_be_now(
    stage, cells, tmp_path, monkeypatch, capsys
):
    class Recorded(Record):
        def __init__(self, config, data, weights):
            self.stored_result = lambda: {"identity": f"{data.training} now"}

    monkeypatch.setattr("ablate.sweep.preflight.Record", Recorded)
    monkeypatch.setattr("ablate.sweep.preflight.corpus", lambda config: "text")
    monkeypatch.setattr("ablate.sweep.preflight.weights_fingerprint", lambda config: "")
    well = ends_well(tmp_path)
    done(cells[0], tmp_path, "failed", error="no space")
    done(cells[1], tmp_path, identity="read now")
    done(cells[2], tmp_path, identity="read before")
    links, view = stage(well, well)
    assert [link["status"] for link in links] == ["finished"] * 3
    assert (view.running, view.done) == (0, 3)
    assert "cell 1: finished, 1 s (earlier, or another worker)" in capsys.readouterr().err
    for cell in cells:
        done(cell, tmp_path, "failed", error="no space")
    path = link_path(tmp_path, 2)
    path.write_text(path.read_text().replace("no space", "nothing"))  # damaged
    links, _ = stage(well, again=False)
    assert [link["status"] for link in links] == ["failed", "failed", "finished"]


def executed(folder, source):
    """Write what a run says that it executed, as the folder of the run."""
    folder.mkdir(parents=True)
    write_json(folder / "identity.json", {"modules": {"ablate.errors": source}})
    return str(folder)


def test_a_run_of_changed_code_ends_the_sweep(stage, tmp_path):
    here = source_hash("ablate.errors")
    same, other = executed(tmp_path / "a", here), executed(tmp_path / "b", "0" * 16)
    well = ends_well(tmp_path)
    tested = [lambda cell: done(cell, tmp_path, folder=same, evaluation=other)]
    with pytest.raises(UserError, match="ablate.errors"):
        stage(well, *tested, lambda cell: pytest.fail("a run began after the change was noticed"))


@pytest.mark.parametrize("key", ["folder", "evaluation", "short"])
@pytest.mark.parametrize("tuning", [False, True])
def test_runs_of_different_code_are_not_pooled(tmp_path, monkeypatch, key, tuning):
    source = executed(tmp_path / "a", "1"), executed(tmp_path / "b", "2")
    monkeypatch.setattr("ablate.evidence.gather.read_about", lambda folder: {})
    for number, folder in enumerate(source):
        place = tmp_path / "screening" if tuning and number else tmp_path
        end = {"short": {"folder": folder}} if key == "short" else {key: folder}
        write_json(link_path(place, number), seal({"cell": number, "levels": {}, **end}))
    with pytest.raises(UserError, match="ablate.errors"):
        gather(tmp_path)


@pytest.fixture
def command(small, tmp_path):
    """What Hydra hands to the first and the last hook of a sweep."""

    def composed(*overrides, hydra_overrides=()):
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            hydra_instance = GlobalHydra.instance().hydra
            words = [*small, *EXPERIMENT, *overrides, *hydra_overrides]
            return hydra_instance.compose_config("config", words, run_mode=RunMode.MULTIRUN)

    return composed


def start(config):
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        begin(config)
        register_study(PlannedSweep(NO_CONTEXT, config, plain_study(config), [], [], [], {}))


def folder(config):
    start(config)
    return Path(config.hydra.sweep.dir)


def test_the_same_command_joins_its_sweep_until_that_has_ended(command, tmp_path, capsys):
    first, second = command("n_jobs=1"), command("n_jobs=2", "seed=1")
    sweep = folder(first)
    registered = (sweep / "study.json").read_text()
    joined = command("n_jobs=3", "logger=csv")
    assert folder(joined) == sweep
    assert (sweep / "study.json").read_text() == registered  # by the first worker alone
    assert folder(second) != sweep  # asks for other cells
    share.expect(first, 1)
    assert share.conclude(first, lambda config: pytest.fail("a cell is missing")) == 0
    done(toy(0, tmp_path, 0), sweep)
    ended = []
    assert share.conclude(first, lambda config: ended.append(config) or 3) == 3
    assert share.conclude(joined, lambda config: pytest.fail("twice")) == 3
    assert "Another worker has ended this sweep" in capsys.readouterr().out
    assert len(ended) == 1
    assert folder(command("n_jobs=1")) != sweep


def test_a_worker_with_another_version_of_a_library_begins_a_separate_sweep(command, monkeypatch):
    sweep = folder(command())
    monkeypatch.setattr("ablate.record.identity.library_versions", lambda: {"torch": "1.0"})
    assert folder(command()) != sweep


def test_the_same_command_after_a_change_of_the_users_code_begins_a_separate_sweep(
    command, monkeypatch, tmp_path
):
    (tmp_path / "own_part.py").write_text("SCALE = 1")
    monkeypatch.syspath_prepend(tmp_path)
    words = "+callbacks.mine._target_=own_part.Mine"
    sweep = folder(command(words))
    assert folder(command(words)) == sweep
    (tmp_path / "own_part.py").write_text("SCALE = 2")
    source._read.cache_clear()  # as in a new process
    assert folder(command(words)) != sweep


def test_workers_of_a_folder_that_is_named_leave_when_it_has_ended(command, tmp_path, capsys):
    named = [f"hydra.sweep.dir={tmp_path / 'mine'}"]
    config = command(hydra_overrides=named)
    assert folder(config) == tmp_path / "mine"
    with pytest.raises(UserError, match="another command, or another version, has begun a sweep"):
        start(command("budget.steps=5", hydra_overrides=named))
    with pytest.raises(UserError, match="another command, or another version, has begun a sweep"):
        start(command(f"paths.results={tmp_path / 'other'}", hydra_overrides=named))
    share.expect(config, 0)
    share.conclude(config, lambda config: 1)  # a run failed: it is tried again
    assert folder(command(hydra_overrides=named)) == tmp_path / "mine"
    share.conclude(config, lambda config: 0)
    with pytest.raises(SystemExit) as left:
        start(command(hydra_overrides=named))
    assert left.value.code == 0


def test_what_is_decided_once_is_decided_for_all(command, tmp_path):
    config = command()
    kept = tmp_path / "decided.json"
    assert share.once(config, kept, lambda: [["lr=1", "seed=0"]]) == [["lr=1", "seed=0"]]
    assert share.once(config, kept, lambda: pytest.fail("twice")) == [["lr=1", "seed=0"]]
    kept.write_text(json.dumps({"decided": [["lr=2"]]}))
    with pytest.raises(UserError, match="edited"):
        share.once(config, kept, lambda: [])


@pytest.mark.parametrize(("accelerator", "runs"), [("cpu", 4), ("gpu", 1), ("auto", 1)])
def test_a_gpu_trains_one_run_at_a_time_if_the_command_sets_no_number(
    monkeypatch, accelerator, runs
):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "a GPU")
    trainer = {"accelerator": accelerator, "devices": 2}
    assert n_jobs(OmegaConf.create({"n_jobs": None, "threads": 1, "trainer": trainer})) == runs
