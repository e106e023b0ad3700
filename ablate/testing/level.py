"""Find the options of a config folder, check their docstrings, and build small models with them."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from ablate.config.location import CONF
from ablate.errors import UserError
from ablate.initial import initialise
from ablate.model.base import Model, Seq2Seq, build
from ablate.record.label import value_text

VOCAB = 20
SMALL = {"d_model": 16, "d_ff": 24, "n_heads": 2}


@dataclass(frozen=True)
class Level:
    """An option of a config group, such as `model/norm=rms_norm`, that is to be tested.

    The model of the test has default components in all other groups. `folder` is the root of the
    configs that contain the option. `places` are overrides that select the option, for options that
    cannot be used everywhere in the model.
    """

    group: str
    name: str
    folder: Path
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.group}={self.name}"

    @cached_property
    def config(self) -> DictConfig:
        """The content of the option's YAML file."""
        config = OmegaConf.load(self.folder / self.group / f"{self.name}.yaml")
        assert isinstance(config, DictConfig)
        return config

    @cached_property
    def kind(self) -> Any:
        """The class that the option's YAML file names as `_target_`."""
        from hydra.utils import get_class

        return get_class(self.config._target_)

    @property
    def breaks(self) -> frozenset[Enum]:
        """The laws that the option violates by design, as its class declares in `breaks`."""
        return frozenset(getattr(self.kind, "breaks", ()))  # torch's classes declare nothing

    @cached_property
    def model(self) -> Model:
        """A small initialised Transformer with this option, in evaluation mode."""
        return built(model_config(*(self.places or (str(self),)), folder=self.folder))

    def logits(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Return the model's logits, "B T V", for source and target token ids."""
        logits: Tensor = self.model.head(self.model(Seq2Seq(src, tgt_in)))
        return logits


def levels(folder: Path, places: dict[str, tuple[str, ...]]) -> Iterator[Level]:
    """Yield every option of the model, every loss and every optimiser in a config folder.

    Args:
        folder: the root of the configs.
        places: overrides that select an option, by "model/FACTOR=LEVEL"; see `checks`.

    Raises:
        UserError: the folder has no options.
    """
    places_of_options = ("model/*/*.yaml", "loss/*.yaml", "optimizer/*.yaml")
    paths = [path for place in places_of_options for path in sorted(folder.glob(place))]
    if not paths:
        raise UserError(f"{folder} has none of {', '.join(places_of_options)}")
    for path in paths:
        group = path.parent.relative_to(folder).as_posix()
        yield Level(group, path.stem, folder, places.get(f"{group}={path.stem}", ()))


def model_config(*words: str, size: str = "micro", small: bool = True, folder: Path = CONF) -> Any:
    """Return the config node `model` composed with some overrides.

    Args:
        words: overrides, such as "model/norm=rms_norm".
        size: name of the model's base config.
        small: whether to reduce the widths and the number of heads.
        folder: root of additional configs with options.
    """
    import hydra

    sizes = [f"model.{key}={value}" for key, value in SMALL.items()] if small else []
    path = f"hydra.searchpath={value_text([f'file://{folder.resolve()}'])}"
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        # only the node of the model
        return hydra.compose(f"model/{size}", [path, *words, *sizes]).model


def built(config: DictConfig) -> Model:
    """Return an initialised model, in evaluation mode, for the config node `model`."""
    model = build(config, src_vocab=VOCAB, tgt_vocab=VOCAB, joint_vocab=True)
    initialise(model, 1)
    return model.eval()


PARTS = ("Equation:", "Source:", "What differs:", "What to expect:")
CITED = re.compile(r"arXiv:\d{4}\.\d{4,5}|doi:10\.|Source: own\b")


def documented(level: Level) -> Iterator[str]:
    """The docstring of the option's class, or of its module, has the parts Equation, Source, What
    differs and What to expect. It cites its source by an arXiv number or a DOI, or states that the
    idea is new by "Source: own".
    """
    text = docstrings(level.kind)
    yield from (f"no {part}" for part in PARTS if part not in text)
    if not CITED.search(text):
        yield "no source is given as arXiv:..., doi:... or `Source: own`"


def docstrings(kind: type) -> str:
    """Return the docstrings of a class and of its module as one text."""
    return "\n".join(filter(None, (kind.__doc__, sys.modules[kind.__module__].__doc__)))


def leaf(level: Level) -> Iterator[str]:
    """The class of the option subclasses the base class of its config group, or another option of
    the group.
    """
    # an option may subclass another option of its group, and change only a part of it
    above = [kind.__module__ for kind in level.kind.__mro__[1:3]]
    module = f"ablate.{level.group.replace('/', '.')}"
    if module not in above:
        yield f"{level.kind.__name__} subclasses nothing of {module}"


LAWS = (documented, leaf)
