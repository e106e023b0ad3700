"""What the package uses of other libraries that they do not promise to keep."""

import ast
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name

import pytest
import torch
from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import StochasticWeightAveraging

ROOT = Path(__file__).resolve().parents[2]
FILES = [path for folder in ("ablate", "hydra_plugins") for path in (ROOT / folder).rglob("*.py")]
# who needs it, and for what
PRIVATE = {
    "hydra._internal.callbacks:Callbacks": "plan.plan: the context of a sweep that is only planned",
    "hydra._internal.hydra:Hydra.compose_config": "plan.plan: the config of such a sweep",
    "hydra._internal.hydra:Hydra.create_main_hydra2": "sweep.begin: --config-dir as well",
    "hydra._internal.utils:get_args_parser": "cli.train: the flags that Hydra has",
    "hydra._internal.core_plugins.basic_sweeper:BasicSweeper._parse_config": "ablate_launcher",
    "hydra._internal.core_plugins.basic_sweeper:BasicSweeper.split_arguments": "ablate_launcher",
    "hydra._internal.core_plugins.basic_sweeper:BasicSweeper.validate_batch_is_legal": (
        "ablate_launcher: every combination of the swept values, composed by us"
    ),
    "hydra._internal.defaults_list:create_defaults_list": "config.scale: the options of a config",
    "hydra._internal.config_loader_impl:"
    "ConfigLoaderImpl._parse_overrides_and_create_caching_repo": "config.scale: the same",
    "omegaconf:DictConfig._get_node": "config.schema: a node that has no value yet",
    "tensorboard.compat.proto.event_pb2:Event": "evidence.foreign: a record of an event file",
    "torch._subclasses.fake_tensor:FakeTensorMode": "probe.counting: tensors of shapes alone",
    "torch.utils._python_dispatch:TorchDispatchMode": "probe.counting: sees every operation",
    "torch:_foreach_norm": "observe.gradients: the norms of all gradients in one call",
    **dict.fromkeys(
        (f"torch:_foreach_{name}" for name in ("lerp", "lerp_", "mul_", "add_")),
        "optimizer.muon: all matrices of one shape in one call",
    ),
    "torch.amp:GradScaler._get_scale_async": "train.module: the scale without a wait",
    "torch:ops.aten.add_.Tensor._schema": "probe.counting: whether an operation writes in place",
    "torch:ops.mkldnn._linear_pointwise": "model.product: oneDNN's products, an option",
    "torch:ops.aten._scaled_dot_product_flash_attention_for_cpu": "model.operations: its products",
    "torch:ops.aten._scaled_dot_product_flash_attention_for_cpu_backward": (
        "model.operations: the products of its gradients"
    ),
    "wandb.proto.wandb_internal_pb2:Record": "evidence.foreign: a record of an offline run",
}
# attributes of objects, by a function that makes such an object
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
OF_OBJECTS = {
    lambda: torch.nn.Linear(1, 1): HOOKS,  # model.linear: whether somebody watches a map
    lambda: StochasticWeightAveraging(0.1): ("_scheduler_state", "_init_n_averaged"),
    lambda: Trainer(logger=False, enable_checkpointing=False).fit_loop: ("_combined_loader",),
}
NAMEDTUPLES = {"_asdict", "_replace", "_fields"}  # public, whatever they look like


@pytest.mark.parametrize("name", PRIVATE)
def test_it_is_still_there(name):
    resolve_name(name)


@pytest.mark.parametrize("make", OF_OBJECTS)
def test_objects_still_have_it(make):
    made = make()
    assert all(hasattr(made, name) for name in OF_OBJECTS[make])


def hidden(name):
    return name.startswith("_") and not name.startswith("__")


def own_names(tree):
    """Names that a module or its classes define or assign."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def used(tree):
    """Private attributes that a module reads, and private modules that it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and hidden(node.attr):
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and any(map(hidden, (node.module or "").split("."))):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_else_is_used():
    trees = [ast.parse(path.read_text()) for path in FILES]
    defined = NAMEDTUPLES.union(*map(own_names, trees))
    allowed = " ".join([*PRIVATE, *chain.from_iterable(OF_OBJECTS.values())]).replace(":", ".")
    foreign = {name for tree in trees for name in used(tree)} - defined
    assert len(foreign) > 5
    assert not [name for name in foreign if name not in allowed]
