"""Shared fixtures. The package is imported inside them, after the checks of shapes have a hook."""

import dataclasses
import functools
import gc
import logging
import pickle
import re
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from copy import copy
from importlib import metadata
from pathlib import Path

import hydra
import pytest
import yaml
from _pytest.logging import catching_logs
from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.conf import ConfigSourceInfo
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf, base

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
    "validation_search.max_ratio=0.5",
    "validation_search.max_extra=1",
)
LONGEST = {"verdict", "site", "parts", "committed", "sweep/test_question"}  # of a few tests
TENTH_SECONDS = 300  # of the slow tests at a commit
START = time.monotonic()


def attach_to_root(self):
    """Capture logs at the root alone.

    pytest goes through all 400 loggers six times per test, for those that pass nothing on.
    """
    if self.level is not None:
        return attach_to_all(self)
    logging.getLogger().addHandler(self.handler)
    self.attached_loggers.append(logging.getLogger())
    return self.handler


attach_to_all, catching_logs.__enter__ = catching_logs.__enter__, attach_to_root
metadata.entry_points = functools.cache(metadata.entry_points)  # of all packages, at every run
yaml.safe_load = functools.partial(yaml.load, Loader=yaml.CSafeLoader)  # ten times as fast


def pytest_addoption(parser):
    """Let every commit run another tenth of the slow tests."""
    parser.addoption("--commits", type=int, help="run the tenth of the slow tests of this number")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config, items):
    """Give all tests of a file to one worker, which makes the fixtures that they share once.

    The longest groups come first, so that no worker is left with one of them at the end.
    """
    if (commits := config.getoption("commits")) is not None:
        slow = [item for item in items if item.get_closest_marker("slow")][commits % 10 :: 10]
        first = commits // 10 % max(1, len(slow))  # another one when this tenth comes again
        items[:] = slow[first:] + slow[:first]
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            name = f"{item.path.parent.name}/{item.path.stem}"
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group").args[0] not in LONGEST)


def pytest_runtest_setup(item):
    """Skip the rest of a tenth of the slow tests when its time is over."""
    if item.config.getoption("commits") is not None and time.monotonic() - START > TENTH_SECONDS:
        pytest.skip("the tenth has used up its time")


def pytest_collection_finish():
    """Keep what is imported out of later searches for garbage, and search less often."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def place(repo):
    """Return where a repository reads its configs, as text; "" unless all are of the project."""
    from ablate.config import option_folders

    sources = repo.get_sources()
    if id(sources) not in _places:
        folders = {*map(str, option_folders())}
        fixed = all(s.scheme() != "file" or s.path in folders for s in sources)
        _places[id(sources)] = str(sources) if fixed else "", sources
    return _places[id(sources)][0]


_places = {}  # with the lists of sources, so that no other list gets the id of one of them


def origin(repo):
    """Return where a repository reads its configs, and whether it leaves out studies."""
    return type(repo.delegate).__name__, place(repo)


@pytest.fixture(scope="session", autouse=True)
def files_read_once():
    """Let Hydra read each file of the config tree once, and put it into its place once."""
    from ablate.config import CONF

    load, put, parse = (
        ConfigRepository.load_config,
        ConfigLoaderImpl._load_single_config,
        OmegaConf.load,
    )
    parse_rule = OverridesParser.parse_rule
    words = functools.cache(lambda *of: parse_rule(OverridesParser.create(), *of))
    loaded, parsed = {}, {}

    def load_once(self, config_path):
        key = place(self), config_path
        if key not in loaded or not place(self):
            loaded[key] = pickle.dumps(load(self, config_path))
        return pickle.loads(loaded[key])

    def put_once(self, default, repo):
        key = origin(repo), default.config_path, default.package, default.primary
        if key not in loaded or not place(repo):
            loaded[key] = pickle.dumps(put(self, default, repo))
        return pickle.loads(loaded[key])

    def parse_once(file):
        path = Path(file if isinstance(file, str | Path) else file.name)
        text = path.read_text(encoding="utf-8")
        if text not in parsed:
            with pytest.MonkeyPatch.context() as fast:
                if path.is_relative_to(CONF):  # others may have mistakes, and messages of their own
                    fast.setattr("yaml.SafeLoader", yaml.CSafeLoader)
                parsed[text] = pickle.dumps(parse(path))
        return pickle.loads(parsed[text])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("omegaconf.base.parse", functools.cache(base.parse))  # of interpolations
        patch.setattr(ConfigRepository, "load_config", load_once)
        patch.setattr(ConfigRepository, "__deepcopy__", lambda self, _: copy(self), raising=False)
        patch.setattr(ConfigLoaderImpl, "_load_single_config", put_once)
        patch.setattr(OmegaConf, "load", parse_once)
        patch.setattr(OverridesParser, "parse_rule", lambda self, *of: copy(words(*of)))
        yield


@pytest.fixture(scope="session", autouse=True)
def folders_sought_once():
    """Let Hydra seek a group, and describe a folder, once for each of the forty folders."""
    from ablate.config import CONF

    is_group, fixed = FileConfigSource.is_group, str(CONF.parent)
    exists, existing = ConfigRepository.group_exists, {}
    sought = functools.cache(lambda path, group: is_group(FileConfigSource("", path), group))
    described = functools.cache(lambda **of: OmegaConf.structured(ConfigSourceInfo(**of)))

    def seek_once(self, config_path):  # Hydra 1.4 names the argument
        is_fixed = self.path.startswith(fixed)
        return sought(self.path, config_path) if is_fixed else is_group(self, config_path)

    def exists_once(self, config_path):
        key = place(self), config_path
        if key not in existing or not place(self):
            existing[key] = exists(self, config_path)
        return existing[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileConfigSource, "is_group", seek_once)
        patch.setattr(ConfigRepository, "group_exists", exists_once)
        patch.setattr(config_loader_impl, "ConfigSourceInfo", described)
        yield


@pytest.fixture(scope="session", autouse=True)
def policy_checked_once():
    """Let Hydra check its list of refused targets once, and not again for every object."""
    with pytest.MonkeyPatch.context() as patch:
        with suppress(ImportError):  # of another version
            from hydra._internal import target_policy as policy

            once = functools.cache(policy._validated_target_policy)
            patch.setattr(policy, "_validated_target_policy", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def merged_once(files_read_once):
    """Let Hydra merge the files of the same choices once; keys are set on a copy.

    That leaves a tenth of the sixth of a second that a composition takes. What lies in a folder of
    a test may change, so it is always merged anew.
    """
    from hydra._internal import defaults_list

    loader = config_loader_impl.ConfigLoaderImpl
    find, merge = config_loader_impl.create_defaults_list, loader._compose_config_from_defaults_list
    make_map = getattr(defaults_list, "_create_interpolation_map", None)  # Hydra 1.4 has none
    listed, merged = {}, {}

    def find_once(repo, config_name, overrides_list, **how):
        given = defaults_list.Overrides(repo, overrides_list)
        choices = given.override_choices, given.append_group_defaults, given.deletions
        key = origin(repo), config_name, str((choices, how))
        if key not in listed or not place(repo):
            listed[key] = find(repo, config_name, overrides_list, **how)
        return dataclasses.replace(listed[key], config_overrides=given.config_overrides)

    def merge_once(self, defaults, repo):
        key = origin(repo), str(defaults)
        if key not in merged or not place(repo):
            with pytest.MonkeyPatch.context() as late:  # parents are set once, for all files
                late.setattr(base.Box, "_re_parent", lambda self: None)
                config = merge(self, defaults, repo)
            config._re_parent()
            merged[key] = pickle.dumps(config)
        return pickle.loads(merged[key])

    def map_where_needed(overrides, defaults, self_added):
        if any(default.is_interpolation() for default in defaults):
            return make_map(overrides, defaults, self_added)
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config_loader_impl, "create_defaults_list", find_once)
        patch.setattr(loader, "_compose_config_from_defaults_list", merge_once)
        patch.setattr(
            defaults_list, "_create_interpolation_map", map_where_needed, raising=bool(make_map)
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks():
    """Leave to the system when it writes: no test takes the power away."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda file: None)
        yield


@pytest.fixture(scope="session")
def inspected():
    """What W&B's own reader says of an offline run, which its Python command imports long for."""
    import wandb
    from wandb.util import get_core_path

    def read(run, *flags):
        wandb.teardown()  # offline, `finish` returns before the file is written
        (file,) = run.glob("*.wandb")
        command = [get_core_path(), "leet", "inspect", "--no-observability", "--json", *flags]
        command += ["--run-file", file, run.parent]
        return subprocess.run(command, capture_output=True, check=True).stdout

    return read


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """One cache of token ids for the whole session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def small_in(cache_folder):
    """Overrides of a tiny run that leaves nothing outside this folder."""
    cache = f"paths.cache={cache_folder}"
    return lambda folder: [*SMALL, f"paths.results={folder / 'results'}", cache]


@pytest.fixture
def small(tmp_path, small_in):
    """Overrides of a tiny run that leaves nothing outside the folder of the test."""
    return small_in(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def short_samples():
    """Let language models write samples of few tokens; 200 take longer than a small training."""
    from ablate.train import apply

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply, "TOKENS", 20)
        yield


@pytest.fixture(scope="session", autouse=True)
def text_made_once():
    """Make each split of the built-in corpus once: every run and every test of it reads some."""
    from ablate.data.toy import Toy

    made, make = {}, Toy.read

    def read(self, split):
        key = self.fingerprint(), str(self._sizes), split
        if key not in made:
            made[key] = make(self, split)
        return made[key]

    Toy.read = read
    yield
    Toy.read = make


@pytest.fixture(scope="session", autouse=True)
def schema():
    """Let Hydra know the schema, which every composition needs, whoever asks for it first.

    The process also finds its catalogue, before tests enter other folders.
    """
    import ablate.config.schema  # noqa: F401
    from ablate.config import catalogue_folders

    catalogue_folders()


@functools.cache
def _chosen(word):
    """Return whether an override chooses an option, or belongs to Hydra."""
    from ablate.config import option_folders

    group = re.split("[@=]", word.lstrip("+~"), maxsplit=1)[0]
    return word.startswith("hydra.") or any((f / group).is_dir() for f in option_folders())


@functools.lru_cache(maxsize=512)  # several files go through all experiments
def _composed(words, hydra_node):
    """A config; unpickling gives one that a test may change."""
    from ablate.config import CONF

    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", list(words), return_hydra_config=hydra_node)
    return pickle.dumps(config)


@pytest.fixture(scope="session")
def compose():
    """Compose the config of a run from overrides, as the command line would.

    Configs of the same options share a composition, on which the other keys are set.
    """

    def composed(*overrides, hydra_node=False):
        config = pickle.loads(_composed(tuple(filter(_chosen, overrides)), hydra_node))
        keys = OverridesParser.create().parse_overrides([w for w in overrides if not _chosen(w)])
        ConfigLoaderImpl._apply_overrides_to_config(keys, config)
        if hydra_node:
            given = [word for word in overrides if not word.startswith("hydra.")]
            config.hydra.overrides.task = given
            config.hydra.job.override_dirname = ",".join(sorted(given))
        return config

    return composed


@pytest.fixture(autouse=True)
def no_hydra_job():
    """Forget which job Hydra ran in a test, since names of runs depend on it."""
    yield
    HydraConfig.instance().cfg = None


@pytest.fixture
def command(monkeypatch, capsys):
    """Call `ablate` with these words; return exit status, standard output, standard error."""

    def called(*words):
        from ablate.cli.main import main

        monkeypatch.setattr("sys.argv", ["ablate", *map(str, words)])
        monkeypatch.setattr("sys.path", [*sys.path])
        status = 0
        try:
            main()
        except SystemExit as leaving:
            status = leaving.code
        return status, *capsys.readouterr()

    return called


@pytest.fixture
def here(monkeypatch):
    """Let the runs of a sweep happen in this process, and draw no figures of its report."""
    run_cells_here(monkeypatch)
    monkeypatch.setattr("ablate.report.write.Figure.picture", None)
    monkeypatch.setattr("ablate.report.draw.svg", lambda picture: "<svg/>\n")


def run_cells_here(patch):
    """Let the runs of a sweep happen in this process, one after the other.

    A process of its own imports for seconds; tests/package starts such ones.
    """
    from ablate.engine import Local
    from ablate.sweep import cell

    def run_in_child(execute, *arguments):
        try:
            execute(*arguments)
        except SystemExit as leaving:
            return leaving.code
        except Exception:
            return 1
        return 0

    def submit(self, task):
        future = Future()
        future.set_result(task())
        return future

    patch.setattr(Local, "session", lambda self, config: nullcontext())
    patch.setattr(Local, "submit", submit)
    patch.setattr(cell, "run_in_child", run_in_child)
    for name in ("write_output_to", "end_with_parent"):
        patch.setattr(cell, name, lambda *arguments: None)
    main = sys.modules["__main__"]  # what a run says of it goes with the test
    patch.setattr(main, "__spec__", main.__spec__)
