"""Shared fixtures. The package is imported inside them, after the shape checker has its hook."""

import copy
import functools
import gc
import sys

# Libraries come before the package: what is imported while the hook loads one of its modules is
# compiled anew, whatever compiled files lie beside it. That takes half a minute.
import matplotlib.figure  # noqa: F401
import pandas  # noqa: F401
import pytest
import pytorch_lightning  # noqa: F401
import sacrebleu  # noqa: F401
import scipy.stats  # noqa: F401
import wandb.sdk.launch  # noqa: F401

# As small as a run can be; results and cache in a folder of the test.
SMALL = (
    "scale=cpu",
    "logger=none",
    "data.n_train=400",
    "data.n_validation=20",
    "data.n_test=20",
    "data.n_test_long=10",
    "budget.steps=4",
    "budget.warmup=2",
    "budget.validate_every=2",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_layers=1",
    "model.n_heads=2",
    "search.max_ratio=0.5",  # an untrained model writes as much as it may
    "search.max_extra=1",
)


def pytest_collection_finish():
    """Keep what is imported out of later searches for garbage, and search less often."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def no_idle_maps():
    """Let Hydra make its map for interpolations only where a list of defaults has some.

    It makes one for each of fifty files, a sixth of the time of a composition.
    """
    from hydra._internal import defaults_list

    made = defaults_list._create_interpolation_map

    def needed(overrides, defaults, self_added):
        if any(default.is_interpolation() for default in defaults):
            return made(overrides, defaults, self_added)
        return None

    defaults_list._create_interpolation_map = needed
    yield
    defaults_list._create_interpolation_map = made


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """One cache of token ids for the whole session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def small(tmp_path, cache_folder):
    """Overrides of a tiny run that leaves nothing outside its folder."""
    return [*SMALL, f"paths.results={tmp_path / 'results'}", f"paths.cache={cache_folder}"]


@pytest.fixture(scope="session", autouse=True)
def text_made_once():
    """Make each split of the built-in corpus once: every run and every test of it reads some."""
    from ablate.data.toy.corpus import Toy

    made, make = {}, Toy.read

    def read(self, split):
        key = self.fingerprint(), split
        if key not in made:
            made[key] = make(self, split)
        return made[key]

    Toy.read = read
    yield
    Toy.read = make


@functools.lru_cache(maxsize=128)
def _composed(words):
    import hydra
    from omegaconf import open_dict

    from ablate.config.schema import CONF

    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", list(words), return_hydra_config=True)
    bare = copy.deepcopy(config)
    with open_dict(bare):
        del bare["hydra"]
    return bare, config


@pytest.fixture(scope="session")
def compose():
    """Compose the config of a run from overrides, as the command line would.

    That takes a third of a second, so configs that differ in their folders alone share it.
    """

    def composed(*overrides, hydra_node=False):
        if hydra_node:
            return copy.deepcopy(_composed(overrides)[1])
        folders = dict(word.split("=", 1) for word in overrides if word.startswith("paths."))
        rest = tuple(word for word in overrides if not word.startswith("paths."))
        config = copy.deepcopy(_composed(rest)[0])
        for key, folder in folders.items():
            config.paths[key.removeprefix("paths.")] = folder
        return config

    return composed


@pytest.fixture
def command(monkeypatch, capsys):
    """Call `ablate` with these words; return exit status, standard output, standard error."""

    def called(*words):
        from ablate.cli.main import main

        monkeypatch.setattr("sys.argv", ["ablate", *map(str, words)])
        status = 0
        try:
            main()
        except SystemExit as leaving:
            status = leaving.code
        return status, *capsys.readouterr()

    return called


@pytest.fixture
def here(monkeypatch):
    """Let the runs of a sweep happen in this process, one after the other.

    A process of its own imports for seconds; tests/package starts such ones.
    """
    from ablate.sweep import worker
    from ablate.sweep.pool import Pool

    class Here(Pool):
        def __init__(self, size, preloaded, *, threads):
            self.size, self._running = 1, {}

        def prepare(self):
            pass

        def run(self, deal, context, started, *, stay):
            while cell := deal.take():
                started(cell.label)
                yield cell, status_of(cell, context)
                deal.release(cell)

    def status_of(cell, context):
        try:
            worker.work(context, cell, cell.argv, "")
        except SystemExit as leaving:
            return leaving.code
        return 0

    monkeypatch.setattr("ablate.sweep.launch.Pool", Here)
    for name in ("_write_output_to", "_die_with_parent"):
        monkeypatch.setattr(worker, name, lambda *arguments: None)
    main = sys.modules["__main__"]  # what a run says of it goes with the test
    monkeypatch.setattr(main, "__spec__", main.__spec__)
