"""The same command, started several times on one folder, is several workers of one sweep."""

import json
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import hydra
import pytest
from filelock import FileLock
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode
from omegaconf import OmegaConf

from ablate.config import CONF
from ablate.engine import Engine
from ablate.errors import UserError, progress
from ablate.evidence.gather import gather
from ablate.record import identity as source
from ablate.record.files import seal, write_json
from ablate.record.identity import source_hash
from ablate.record.results import Fingerprints, outcome_path
from ablate.record.training import Record
from ablate.sweep.begin import begin, decide_once, register_study
from ablate.sweep.cell import Cell, plain_study
from ablate.sweep.compose import Checked, PlannedSweep
from ablate.sweep.launch import Worker, end_once

NO_CONTEXT = HydraContext(config_loader=Mock(), callbacks=Mock())
EXPERIMENT = ("+experiment=preln_vs_postln", "study.tune=null")


def toy(number, results, training):
    """A cell that takes no work; cells of one training may not run at once."""
    form = {"exclude_keys": [], "item_sep": ",", "kv_sep": "="}
    job = {"config": {"override_dirname": form}}
    node = {"sweep": {"dir": str(results)}, "overrides": {"task": []}, "job": job}
    node |= {"runtime": {"choices": {}, "config_sources": []}}
    config = OmegaConf.create(
        {"seed": 0, "threads": 1, "study": None, "paths": {"results": str(results)}, "hydra": node}
    )
    cell = Cell(number, f"cell {number}", (), config)
    cell.__dict__["training_hash"] = str(training)
    return cell


@pytest.fixture
def cells(tmp_path):
    """Six cells, the first two of one training."""
    return [toy(n, tmp_path, training=max(1, n)) for n in range(6)]


def done(cell, root, status="finished", **more):
    write_json(outcome_path(root, cell.number), seal({"status": status, "wall_seconds": 1, **more}))


class Here(Engine):
    """An engine that calls one task at a time."""

    workers = 1

    def submit(self, task):
        future = Future()
        try:
            future.set_result(task())
        except RuntimeError as error:
            future.set_exception(error)
        return future


@pytest.fixture
def processes(monkeypatch):
    """Let a function of the cell say how the process of a run ends."""
    monkeypatch.setattr("ablate.sweep.cell.HELD_SECONDS", 0.01)

    def end_as(end):
        monkeypatch.setattr(
            "ablate.sweep.cell.run_in_child", lambda _, context, cell, place: end(cell)
        )

    return end_as


@pytest.fixture
def sweep(cells, tmp_path):
    paths = {"results": str(tmp_path), "experiments": str(tmp_path / "experiments")}
    config = OmegaConf.create({"name": "toy", "paths": paths})
    checked = Checked({"text": Fingerprints("read", {})}, {})
    return PlannedSweep(NO_CONTEXT, config, None, cells, cells, [], {}, checked)


@pytest.fixture
def stage(sweep, processes):
    """Run one stage of three cells, whose processes end in these ways, in their order."""

    def ran(*ends, retry_failed=True):
        following, work = iter(ends), progress("toy", 3, shown=False)
        processes(lambda cell: next(following)(cell))
        with work:
            return Worker(sweep, Here(), work).run(sweep.cells[1:4], retry_failed), work

    return ran


def ends_well(sweep):
    return lambda cell: done(cell, sweep) or 0


def test_workers_that_race_execute_every_cell_once(sweep, processes, tmp_path, monkeypatch):
    # a worker that starts late sees outcomes, which the records of these cells would not confirm
    monkeypatch.setattr(Worker, "_outcome_is_valid", lambda self, cell, retry_failed: True)
    executed, active = [], []

    def slowly(cell):
        assert cell.training_hash not in active  # cells of one training are never executed at once
        active.append(cell.training_hash)
        time.sleep(0.02)
        executed.append(cell.number)
        done(cell, tmp_path)
        active.remove(cell.training_hash)
        return 0

    def worker(_):
        return Worker(sweep, Here(), progress("toy", 6, shown=False)).run(sweep.cells)

    processes(slowly)
    with ThreadPoolExecutor(3) as workers:
        outcomes = [*workers.map(worker, range(3))]
    assert sorted(executed) == [0, 1, 2, 3, 4, 5]
    assert [[link["status"] for link in links] for links in outcomes] == [["finished"] * 6] * 3


def test_a_worker_waits_for_a_run_that_another_holds_and_takes_over(stage, cells, tmp_path):
    well, ran = ends_well(tmp_path), []
    (tmp_path / "locks").mkdir()
    lock = FileLock(tmp_path / "locks" / f"{cells[1].training_hash}.lock", thread_local=False)
    lock.acquire()

    def ends(cell):
        ran.append(cell.number)
        if len(ran) == 2:
            lock.release()  # the other worker dies
        return well(cell)

    links, work = stage(ends, ends, ends)
    assert ran == [2, 3, 1]
    assert work.n == 3 and len(links) == 3


def test_a_run_whose_process_is_interrupted_or_killed_has_failed(stage, tmp_path):
    links, work = stage(ends_well(tmp_path), lambda cell: 143, lambda cell: -9)
    assert [link["status"] for link in links] == ["finished", "failed", "failed"]
    assert work.n == 3


def test_a_run_that_is_lost_on_another_machine_failed_unless_it_had_ended(stage, tmp_path):
    well = ends_well(tmp_path)

    def lose(cell):
        raise RuntimeError("the node is gone")

    links, _ = stage(well, lose, lambda cell: lose(well(cell)))
    assert [link["status"] for link in links] == ["finished", "failed", "finished"]
    assert "the node is gone" in links[1]["error"]


def test_who_joins_runs_again_what_failed_or_is_not_what_it_would_be_now(
    stage, cells, tmp_path, monkeypatch, capsys
):
    class Recorded(Record):
        def __init__(self, config, data, weights):
            self.stored_result = lambda: {"identity": f"{data.training} now"}

    monkeypatch.setattr("ablate.sweep.preflight.Record", Recorded)
    monkeypatch.setattr("ablate.sweep.preflight.data_key", lambda config: "text")
    monkeypatch.setattr("ablate.sweep.preflight.weights_fingerprint", lambda config: "")
    well = ends_well(tmp_path)
    done(cells[1], tmp_path, "failed", error="no space")
    done(cells[2], tmp_path, identity="read now")
    done(cells[3], tmp_path, identity="read before")
    links, work = stage(well, well)
    assert [link["status"] for link in links] == ["finished"] * 3
    assert work.n == 3
    assert "cell 2: finished, 1 s" in capsys.readouterr().err
    for cell in cells:
        done(cell, tmp_path, "failed", error="no space")
    links, _ = stage(retry_failed=False)
    assert [link["status"] for link in links] == ["failed"] * 3


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


@pytest.mark.parametrize(("key", "tuning"), [("evaluation", False), ("short", True)])
def test_runs_of_different_code_are_not_pooled(tmp_path, monkeypatch, key, tuning):
    source = executed(tmp_path / "a", "1"), executed(tmp_path / "b", "2")
    monkeypatch.setattr("ablate.evidence.gather.read_about", lambda folder: {})
    for number, folder in enumerate(source):
        place = tmp_path / "screening" if tuning and number else tmp_path
        end = {"short": {"folder": folder}} if key == "short" else {key: folder}
        write_json(outcome_path(place, number), seal({"cell": number, "levels": {}, **end}))
    with pytest.raises(UserError, match="ablate.errors"):
        gather(tmp_path)


@pytest.fixture
def command(small, tmp_path):
    """What Hydra hands to the hook that begins a sweep, and to the launcher."""

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


def test_the_same_command_joins_its_sweep_until_that_has_ended(command, tmp_path, monkeypatch):
    first, second = command("n_jobs=1"), command("n_jobs=2", "seed=1")
    sweep = folder(first)
    registered = (sweep / "study.json").read_text()
    joined = command("n_jobs=3", "logger=csv")
    assert folder(joined) == sweep
    assert (sweep / "study.json").read_text() == registered  # by the first worker alone
    assert folder(second) != sweep  # asks for other cells
    ended = []
    monkeypatch.setattr("ablate.sweep.launch.report_sweep", lambda _: ended.append(_) or 3)
    assert end_once(first, 1) == 0  # a cell is missing
    done(toy(0, tmp_path, 0), sweep)
    assert end_once(first, 1) == 3
    assert end_once(joined, 1) == 3
    assert len(ended) == 1
    assert folder(command("n_jobs=1")) != sweep


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


def test_only_the_same_command_joins_a_sweep_whose_folder_is_named(command, tmp_path, monkeypatch):
    named = [f"hydra.sweep.dir={tmp_path / 'mine'}"]
    config = command(hydra_overrides=named)
    assert folder(config) == tmp_path / "mine"
    for word in ("budget.steps=5", f"paths.results={tmp_path / 'other'}"):
        with pytest.raises(UserError):
            start(command(word, hydra_overrides=named))
    monkeypatch.setattr("ablate.sweep.launch.report_sweep", lambda config: 1)
    end_once(config, 0)  # a run failed: it is tried again
    assert folder(command(hydra_overrides=named)) == tmp_path / "mine"


def test_what_is_decided_once_is_decided_for_all(command, tmp_path):
    config = command()
    kept = tmp_path / "decided.json"
    assert decide_once(config, kept, lambda: [["lr=1", "seed=0"]]) == [["lr=1", "seed=0"]]
    assert decide_once(config, kept, lambda: pytest.fail("twice")) == [["lr=1", "seed=0"]]
    kept.write_text(json.dumps({"decided": [["lr=2"]]}))
    with pytest.raises(UserError, match="edited"):
        decide_once(config, kept, lambda: [])
