"""Load the model of a finished run from its folder, in the precision of its run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import hydra
import torch
import yaml
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.plugins.precision import (
    DoublePrecision,
    HalfPrecision,
    MixedPrecision,
    Precision,
)

from ablate.config.check import check, check_groups, check_node
from ablate.config.construct import construct
from ablate.config.location import CONF, search_current_folder
from ablate.config.schema import Config
from ablate.config.trust import check_targets
from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError, class_and_line
from ablate.initial import initialise
from ablate.model.base import Model, build
from ablate.model.linear import choose_products
from ablate.process import keep_memory
from ablate.record.files import check_links, load_weights
from ablate.record.results import read_result
from ablate.search import Search
from ablate.seeding import seed_of
from ablate.task import Task


def precision_plugin(precision: str, device: str | torch.device) -> Precision:
    """Return Lightning's plug-in for a resolved `trainer.precision`.

    The method `convert_module` gives a model the types of the run, and `forward_context` returns
    the context in which the trainer calls the model.
    """
    if precision.endswith("-mixed"):
        return MixedPrecision(precision, torch.device(device).type)
    if precision in ("16-true", "bf16-true"):
        return HalfPrecision(precision)
    return {"32-true": Precision, "64-true": DoublePrecision}[precision]()


VALUES = ("seed", "replicate", "threads", "products")  # single keys of a config that are used
TRAINER = ("precision", "accelerator")  # keys of the trainer that are used
USED = ("model", "adapt", "search", "batch", "task", *VALUES, "trainer")
SCHEMA = OmegaConf.masked_copy(OmegaConf.structured(Config), ["batch", *VALUES])


@dataclass(frozen=True)
class Restored:
    """The trained model of a finished run, with its vocabularies and the nodes of its config that
    are needed to use the model.

    The model has the types of the run. It must be called in the context that
    `precision.forward_context` returns.
    """

    folder: Path
    config: DictConfig  # the nodes of `USED`
    model: Model
    tokenizers: Tokenizers
    task: Task
    search: Search
    device: str
    precision: Precision


def restore(
    folder: Path,
    settings: Mapping[str, object],
    trust: list[str],
    device: str | None = None,
    threads: int | None = None,
) -> Restored:
    """Return the trained model of a finished run.

    Args:
        folder: folder of the run.
        settings: values that replace keys of the run's decoding search.
        trust: packages outside ablate and torch whose classes the run's config may construct.
        device: device of the model; None: as in the run, or the CPU if this machine has no GPU.
        threads: number of threads of torch; None: that of the run.

    Raises:
        UserError: a file of the run is missing or damaged, its config would construct a class that
            is not trusted, or its files do not fit together.
    """
    check_links(folder, folder)
    record = read_result(folder)  # also checks that no file of the run is missing or changed
    if record is None:
        raise UserError(f"checkpoint={folder} has no result.json of a finished run")
    config = read_config(folder, settings, trust)
    torch.set_num_threads(threads or config.threads)
    choose_products(config.products)
    keep_memory()
    tokenizers = Tokenizers.load(folder / "tokenizer")
    task: Task = construct(config.task)
    task.begin(tokenizers)
    search: Search = construct(config.search)
    model = build(
        config.model,
        src_vocab=tokenizers.src.size if task.reads_source else 0,
        tgt_vocab=tokenizers.tgt.size,
        joint_vocab=tokenizers.joint,
    )
    construct(config.adapt)(model, 0)
    device = device or device_of(config.trainer.accelerator)
    precision = precision_plugin(config.trainer.precision, device)
    precision.convert_module(model.to(device))
    load_weights(model, folder / "weights.pt", record["weights"])
    return Restored(folder, config, model.eval(), tokenizers, task, search, device, precision)


def device_of(accelerator: str) -> str:
    """Return the device of a run with this `trainer.accelerator`, or cpu if it is not here."""
    devices = {"cuda": torch.cuda, "mps": torch.backends.mps} if accelerator != "cpu" else {}
    return next((name for name, kind in devices.items() if kind.is_available()), "cpu")


def read_config(folder: Path, settings: Mapping[str, object], trust: list[str]) -> DictConfig:
    """Return the nodes `USED` of a run's config.

    Args:
        folder: folder of the run.
        settings: values that replace keys of the node `search`.
        trust: packages outside ablate and torch whose classes the config may construct.

    Raises:
        UserError: the config is missing or invalid, or would construct a class that is not trusted.
    """
    path = folder / "config.yaml"
    try:
        text = path.read_text(encoding="utf-8")
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            # a few lines of nested aliases expand to millions of values
            raise ValueError("it has aliases, which a run never writes")
        plain: Any = OmegaConf.to_container(OmegaConf.create(text), resolve=False)
        parts = {key: plain[key] for key in USED}
        parts["trainer"] = {key: plain["trainer"][key] for key in TRAINER}
        parts["search"] |= settings
    except Exception as error:  # YAML can have any shape
        raise UserError(f"{path} is not the config of a run ({class_and_line(error)})") from None
    check_targets(parts, trust)  # no other part of the config is ever built
    merged = OmegaConf.merge(SCHEMA, parts)
    assert isinstance(merged, DictConfig)
    check_node(merged.search, "search")
    return merged


def new_model(
    overrides: Iterable[str], vocabulary: int, config_dir: str | PathLike[str] | None = None
) -> Model:
    """Return the model of a command with these overrides, with the random weights of its seed
    (`initial=seeded`).

    Args:
        overrides: overrides of the config, such as "model/position=rotary".
        vocabulary: number of tokens, which source and target share.
        config_dir: a folder with further options; their classes may be in the current folder.
    """
    folders = [f"hydra.searchpath=['file://{Path(config_dir).absolute()}']"] if config_dir else []
    search_current_folder()
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", [*folders, *overrides])
    check_groups(config)
    check(config)
    task: Task = construct(config.task)
    source = vocabulary if task.reads_source else 0
    model = build(config.model, src_vocab=source, tgt_vocab=vocabulary, joint_vocab=True)
    initialise(model, seed_of(config))
    return model


def trained_model(run: Any, results: Path, trust: Iterable[str]) -> Model:
    """Return the trained model of a run, in evaluation mode.

    Args:
        run: the folder of a run, the identity of a run or of its test, or a row (a series of
            pandas) of `ablate.load`, which has the identity.
        results: the folder of results that contains the run.
        trust: packages whose classes the config of the run may construct.

    Raises:
        UserError: there is no such run, or its files are damaged.
    """
    name = run if isinstance(run, str | PathLike) else str(run["identity"])
    tests = [path.parent.parent for path in results.glob(f"runs/*/tests/{Path(name).name}")]
    folders = [Path(name), results / "runs" / name, *tests]
    folder = next((path for path in folders if (path / "weights.pt").is_file()), None)
    if folder is None:
        raise UserError(f"{results / 'runs'} has no trained run {name}")
    return restore(folder, {}, [*trust]).model
