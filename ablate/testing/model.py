"""Find the options of a config folder, build small models with them, and test the laws of models on
token ids with padding.

A law is a property that a whole model with the tested option must have. A function tests one law
and yields a message for each violation. Its docstring states the law, because error messages quote
the docstring (`ablate.testing.Check`).
"""

import copy
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor
from torch.nn import functional as F

from ablate.config import CONF, option_folders
from ablate.data import PAD
from ablate.errors import UserError
from ablate.initial import initialise
from ablate.model import Law, Model, Seq2Seq, build
from ablate.record.results import value_text

VOCAB = 20
SMALL = {"d_model": 16, "d_ff": 24, "n_heads": 2}


@dataclass(frozen=True)
class Option:
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
        return small_model(model_config(*(self.places or (str(self),)), folder=self.folder))

    def logits(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Return the model's logits, "B T V", for source and target token ids."""
        logits: Tensor = self.model.head(self.model(Seq2Seq(src, tgt_in)))
        return logits


def options(folder: Path, places: dict[str, tuple[str, ...]]) -> Iterator[Option]:
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
        yield Option(group, path.stem, folder, places.get(f"{group}={path.stem}", ()))


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
    more = [] if folder in option_folders() else [path]  # these are searched anyway
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        # only the node of the model
        return hydra.compose(f"model/{size}", [*more, *words, *sizes]).model


def small_model(config: DictConfig) -> Model:
    """Return an initialised model with a vocabulary of `VOCAB` tokens, in evaluation mode.

    `config` is the config node `model`.
    """
    model = build(config, src_vocab=VOCAB, tgt_vocab=VOCAB, joint_vocab=True)
    initialise(model, 1)
    return model.eval()


PARTS = ("Equation:", "Source:", "What differs:", "What to expect:")
CITED = re.compile(r"arXiv:\d{4}\.\d{4,5}|doi:10\.|Source: own\b")


def documented(option: Option) -> Iterator[str]:
    """The docstring of the option's class, or of its module, has the parts Equation, Source, What
    differs and What to expect. It cites its source by an arXiv number or a DOI, or states that the
    idea is new by "Source: own".
    """
    text = docstrings(option.kind)
    yield from (f"no {part}" for part in PARTS if part not in text)
    if not CITED.search(text):
        yield "no source is given as arXiv:..., doi:... or `Source: own`"


def docstrings(kind: type) -> str:
    """Return the docstrings of a class and of its module as one text."""
    return "\n".join(filter(None, (kind.__doc__, sys.modules[kind.__module__].__doc__)))


def leaf(option: Option) -> Iterator[str]:
    """The class of the option subclasses the base class of its config group, or another option of
    the group.
    """
    # an option may subclass another option of its group, and change only a part of it
    above = [kind.__module__ for kind in option.kind.__mro__[1:3]]
    module = f"ablate.{option.group.replace('/', '.')}"
    if module not in above:
        yield f"{option.kind.__name__} subclasses nothing of {module}"


# laws of every option
EVERY = (documented, leaf)


def batch() -> Seq2Seq:
    """Return the token ids of four padded sentence pairs.

    The sources have shape (4, 6), and the inputs of the decoder have shape (4, 18). The inputs of
    the decoder are longer than a block of the key-value cache.
    """
    generator = torch.Generator().manual_seed(0)
    src = torch.randint(4, VOCAB, (4, 6), generator=generator)
    tgt_in = torch.randint(4, VOCAB, (4, 18), generator=generator)
    for row, (n_src, n_tgt) in enumerate([(6, 18), (4, 11), (2, 18), (5, 1)]):
        src[row, n_src:] = PAD
        tgt_in[row, n_tgt:] = PAD
    return Seq2Seq(src, tgt_in)


def shape(option: Option) -> Iterator[str]:
    """Logits have one row per target token and one column per word of the vocabulary, and are
    finite float32.
    """
    src, tgt_in = batch()
    logits = option.logits(src, tgt_in)
    if logits.shape != (*tgt_in.shape, VOCAB):
        yield f"the shape is {tuple(logits.shape)}"
    elif not logits[tgt_in != PAD].isfinite().all():
        yield "not all of them are finite"
    if logits.dtype != torch.float32:
        yield f"they are {logits.dtype}"


def gradients(option: Option) -> Iterator[str]:
    """Every parameter has a finite gradient."""
    src, tgt_in = batch()
    # a copy: running averages, which training changes, would change what later laws test
    model = copy.deepcopy(option.model).train()
    real = tgt_in != PAD
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        logits = model.head(model(Seq2Seq(src, tgt_in)))
    torch.autograd.backward(F.cross_entropy(logits[real], tgt_in.roll(-1, 1)[real]))
    for name, parameter in model.named_parameters():
        if parameter.grad is None or not parameter.grad.isfinite().all():
            yield name


@torch.no_grad()
def no_future(option: Option) -> Iterator[str]:
    """A changed target token changes nothing before it."""
    src, tgt_in = batch()
    logits = option.logits(src, tgt_in)
    for t in (0, 7, 16):
        other = tgt_in.clone()
        other[:, t + 1 :] = torch.where(other[:, t + 1 :] == 5, 6, 5)
        past = (tgt_in != PAD)[:, : t + 1]
        if not _close(logits[:, : t + 1][past], option.logits(src, other)[:, : t + 1][past]):
            yield f"a change after token {t} is seen before it"


@torch.no_grad()
def source_padding(option: Option) -> Iterator[str]:
    """More padding in the source changes no logits at real target positions."""
    src, tgt_in = batch()
    longer = F.pad(src, (0, 13), value=PAD)
    real = tgt_in != PAD
    if not _close(option.logits(src, tgt_in)[real], option.logits(longer, tgt_in)[real]):
        yield "13 columns more change the logits"


@torch.no_grad()
def target_padding(option: Option) -> Iterator[str]:
    """More padding in the target changes no logits at real target positions."""
    src, tgt_in = batch()
    longer = F.pad(tgt_in, (0, 5), value=PAD)
    real = tgt_in != PAD
    if not _close(option.logits(src, tgt_in)[real], option.logits(src, longer)[:, :18][real]):
        yield "5 columns more change the logits"


@torch.no_grad()
def stepwise(option: Option) -> Iterator[str]:
    """Decoding step by step with caches gives the logits of one parallel pass, also when beam
    search reorders or drops hypotheses.
    """
    src, tgt_in = batch()
    parallel = option.logits(src, tgt_in)
    state = option.model.start(src, beams=1)
    first = tgt_in[:, :7]  # the beams below go on past the first block of the cache
    steps = [option.model.head(option.model.step(tokens, state)) for tokens in first.T]
    real = first != PAD
    if not _close(torch.stack(steps, 1)[real], parallel[:, :7][real]):
        yield "one hypothesis per sentence has other logits"
    yield from _with_beams(option, src)


def _with_beams(option: Option, src: Tensor, beams: int = 3) -> Iterator[str]:
    """Yield a message for every step with wrong logits, after rows are reordered or dropped."""
    generator = torch.Generator().manual_seed(1)
    state = option.model.start(src, beams)
    src = src.repeat_interleave(beams, 0)
    history = torch.empty(len(src), 0, dtype=torch.long)
    for step in range(18):
        tokens = torch.randint(4, VOCAB, (len(history),), generator=generator)
        history = torch.cat([history, tokens[:, None]], 1)
        logits = option.model.head(option.model.step(tokens, state))
        if step in (3, 17) and not _close(logits, option.logits(src, history)[:, -1]):
            yield f"step {step} of {beams} beams has other logits"
        if step in (4, 12):
            kept = torch.tensor([0, 2, 3] if step == 4 else [1])
            state.keep(kept)
            rows = (kept[:, None] * beams + torch.arange(beams)).flatten()
            history, src = history[rows], src[rows]
        first = torch.arange(len(history)) // beams * beams
        rows = first + torch.randint(beams, (len(history),), generator=generator)
        state.reorder(rows)
        history = history[rows]


@torch.no_grad()
def empty_batch(option: Option) -> Iterator[str]:
    """A batch of no sentences gives logits for no sentences."""
    none = torch.empty(0, 5, dtype=torch.long)
    logits = option.logits(none, none)
    if logits.shape != (0, 5, VOCAB):
        yield f"the shape is {tuple(logits.shape)}"


def seeded(option: Option) -> Iterator[str]:
    """The same seed draws the same initial values, and another seed draws different initial
    values.
    """
    first, other, again = _drawn(option.model, 7, 8, 7)
    for name, values in first.items():
        if not torch.equal(values, again[name]):
            yield f"{name} differs for the same seed"
        if values.dim() > 1 and torch.equal(values, other[name]):
            yield f"{name} is the same for two seeds"


def initial_values(option: Option) -> Iterator[str]:
    """Parameters that the model shares with the default model have the same initial values."""
    (ours,), (theirs,) = _drawn(option.model, 3), _base()
    shared = [name for name in ours if name in theirs and ours[name].shape == theirs[name].shape]
    if not shared:
        yield "it shares none"
    yield from (name for name in shared if not torch.equal(ours[name], theirs[name]))


@cache
def _base() -> list[dict[str, Tensor]]:
    """Return initial values of the default model, from which options differ in one component."""
    return _drawn(small_model(model_config()), 3)


def _drawn(model: Any, *seeds: int) -> list[dict[str, Tensor]]:
    """Return the initial values of the parameters, by name, for each seed."""
    model, values = copy.deepcopy(model), []
    for seed in seeds:
        initialise(model, seed)
        values.append({name: value.detach().clone() for name, value in model.named_parameters()})
    return values


def _close(a: Tensor, b: Tensor) -> bool:
    # rounding errors of a logit near 0 grow with the largest of the states that it sums
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5 * max(1.0, b.detach().abs().max().item()))


LAWS: dict[Any, Enum | None] = {
    shape: None,
    gradients: None,
    no_future: Law.NO_FUTURE,
    source_padding: Law.SOURCE_PADDING,
    target_padding: Law.TARGET_PADDING,
    stepwise: Law.STEPWISE,
    empty_batch: None,
    seeded: None,
    initial_values: Law.INITIAL_VALUES,
}
