"""Return a model in one call: a new model of some overrides, or the trained model of a run."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import hydra

from ablate.config.check import check, check_groups
from ablate.config.construct import construct
from ablate.config.location import CONF
from ablate.errors import UserError
from ablate.initial import initialise
from ablate.model.base import Model, build
from ablate.seeding import seed_of
from ablate.task import Task
from ablate.train.restore import restore


def new_model(overrides: Iterable[str], vocabulary: int) -> Model:
    """Return the model of a command with these overrides, with the random weights of its seed
    (`initial=seeded`).

    Args:
        overrides: overrides of the config, such as "model/position=rotary".
        vocabulary: number of tokens, which source and target share.
    """
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", [*overrides])
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
