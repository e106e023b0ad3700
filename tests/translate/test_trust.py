"""What the config of a run from elsewhere may build: what the config tree builds there."""

import sys

import pytest

from ablate.config.trust import check_targets
from ablate.errors import UserError

GREEDY = "ablate.search.Greedy"
STARTS_OR_WRITES = [
    "torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler"
    ".SubprocessHandler",
    "torch.utils.tensorboard.SummaryWriter",
]
MINE = """
from pathlib import Path
from subprocess import Popen

from ablate.model.position import Position
from ablate.search import Search


class Mine(Search):
    def forward(self, model, src): ...


class Place(Position):
    def forward(self, x, offset): ...


class Plain:
    pass


def mine():
    return Mine()
"""


def search(target=GREEDY, **more):
    return {"search": {"_target_": target, "max_ratio": 1.5, **more}}


@pytest.fixture
def my_parts(tmp_path, monkeypatch):
    """A package on the path that is not imported, nor after the test."""
    (tmp_path / "my_parts.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_parts", raising=False)
    yield "my_parts"
    sys.modules.pop("my_parts", None)


@pytest.mark.parametrize("levels", [(), ("search=greedy", "model/padding=rows")])
def test_what_a_run_of_the_installed_version_writes_passes(compose, levels):
    from omegaconf import OmegaConf

    config = OmegaConf.to_container(compose(*levels), resolve=True)
    check_targets({key: config[key] for key in ("model", "search", "batch")}, [])


@pytest.mark.parametrize(
    "target",
    [
        *STARTS_OR_WRITES,
        *("os.system", "subprocess.Popen", "functools.partial", "builtins.eval"),
        *("torch.load", "torch.hub.load", "torch.os.system", "torch.nn.LayerNorm"),
        *("ablate.config.check.difflib.Differ", "ablate.train.restore.Path"),
        *("ablate.search.Largest", "ablate.sweep.launch.View", f"{GREEDY}.__init__"),
        *("ablate.model.norm.LayerNorm", "pytorch_lightning.Trainer"),
        *("", "ablate", None, 7, [GREEDY]),
    ],
)
def test_only_what_the_tree_builds_there_may_stand_there(target):
    with pytest.raises(UserError, match="^search "):
        check_targets(search(target), [])


@pytest.mark.parametrize("target", [STARTS_OR_WRITES[0], GREEDY])
@pytest.mark.parametrize(
    ("place", "key"),
    [
        (lambda node: {"search": {"_target_": GREEDY, "max_ratio": node}}, "search.max_ratio"),
        (lambda node: {"search": {"_target_": GREEDY, "x": [[], [1, node]]}}, "search.x.1.1"),
        (lambda node: {"model": {"dropout": {"rate": {"deep": node}}}}, "model.dropout.rate.deep"),
        (lambda node: {"batch": node}, "batch"),
    ],
)
def test_no_argument_is_built_where_the_tree_builds_none(target, place, key):
    with pytest.raises(UserError, match=f"^{key} "):
        check_targets(place({"_target_": target, "args": ["touch", "x"]}), [])


@pytest.mark.parametrize(
    "words", [{"_args_": [{"_target_": GREEDY}]}, {"_partial_": True}, {"_recursive_": False}]
)
def test_a_component_is_built_in_the_way_of_the_tree(words):
    with pytest.raises(UserError, match=f"^search .*{[*words][0]}="):
        check_targets(search(**words), [])
    with pytest.raises(UserError, match=r"^model\.dropout "):
        check_targets({"model": {"dropout": words}}, [])
    as_number = {"_target_": "ablate.model.norm.LayerNorm", "_partial_": 1}
    with pytest.raises(UserError, match=r"^model\.norm "):
        check_targets({"model": {"norm": as_number}}, [])


@pytest.mark.parametrize("text", ["${oc.env:HOME}", "${oc.create:{_target_:os.system}}", "???"])
@pytest.mark.parametrize("key", ["max_ratio", "_target_"])
def test_values_that_are_still_to_be_resolved_are_refused(text, key):
    with pytest.raises(UserError, match=rf"^search\.{key} "):
        check_targets(search() | {"search": {"_target_": GREEDY, key: text}}, ["os", text])


def test_nothing_is_imported_before_all_names_are_trusted(my_parts):
    for config in (
        search("my_parts.Mine"),
        search(max_ratio={"_target_": "my_parts.Mine"}),
        search("my_parts.Mine") | {"model": {"_target_": "os.system"}},
    ):
        trust = [] if "model" not in config else ["my_parts"]
        with pytest.raises(UserError):
            check_targets(config, trust)
        assert my_parts not in sys.modules
    with pytest.raises(UserError):
        check_targets(search("no_such_package.Thing"), [])
    with pytest.raises(UserError):
        check_targets(search("my_parts.Mine"), ["my_part", "parts", "my_parts.Min"])
    assert my_parts not in sys.modules


def test_a_trusted_package_gives_classes_of_the_interface(my_parts):
    check_targets(search("my_parts.Mine"), [my_parts])
    for target in ("Place", "Plain", "Path", "Popen", "mine", "Search"):
        with pytest.raises(UserError):
            check_targets(search(f"my_parts.{target}"), [my_parts])
    with pytest.raises(UserError):
        check_targets(search("my_parts.Mine", _partial_=True), [my_parts])
    with pytest.raises(UserError):
        check_targets(search(max_ratio={"_target_": "my_parts.Mine"}), [my_parts])
    with pytest.raises(UserError):
        check_targets(search("my_parts.Nobody"), [my_parts])
