"""Build a model from the node `model` of a config."""

import torch
from hydra.utils import get_class
from omegaconf import DictConfig

from ablate.config.arguments import nest_arguments
from ablate.config.construct import construct
from ablate.model.base import Model


def build(config: DictConfig, *, src_vocab: int, tgt_vocab: int, joint_vocab: bool) -> Model:
    """Return the model that the config describes; `config` is the node `model` of a run's config.

    `src_vocab` is 0 if the task has no source.

    Building draws no numbers from torch's global random generator, so that all arms of a study see
    the same random numbers afterwards. The initial values are drawn later, by an option of
    `initial`. Under `torch.device("meta")` parameters have shapes but no values; this is enough to
    check that components fit together.

    Raises:
        UserError: a size, a value or a combination of components is wrong.
    """
    with torch.random.fork_rng(devices=[]):
        model: Model = construct(
            config,
            _target_=f"{__name__}.{assemble.__name__}",
            constructor=config["_target_"],
            src_vocab=src_vocab,
            tgt_vocab=tgt_vocab,
            joint_vocab=joint_vocab,
        )
    return model


def assemble(*, constructor: str, **given: object) -> Model:
    """Return the model that a constructor builds from the settings of its config.

    Args:
        constructor: the import path of a model class.
        given: settings from the config, which are grouped into the arguments of the class.
    """
    kind = get_class(constructor)
    model: Model = kind(**nest_arguments(kind, given))
    return model
