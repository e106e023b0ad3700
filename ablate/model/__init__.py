"""Define all models: their interface, the inputs that they read, how they are built from a config,
the laws, which tests check for every component, and caches of decoding.

A factor of a Transformer, such as its norm, has a module, or a package of modules, with the
interface of its options and all options. A component for which a law does not hold lists the law in
its attribute `breaks`.

Letters of shapes in annotations: B batch, S source length, T target length, L either length, Q/K
query/key length, H heads, E width of a head, W width of a value, D d_model, F d_ff, V vocabulary, N
rows of a flat list, M sentences, R decoder rows (a row for each hypothesis of each sentence). Masks
are boolean and called `keep`: True = may attend.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from hydra.utils import get_class
from jaxtyping import Float, Int
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ablate.config.construct import construct, nest_arguments

if TYPE_CHECKING:
    from ablate.model.head import Head  # which imports this module


class Law(Enum):
    """A property of a whole model that tests check for every option of every component."""

    NO_FUTURE = "a changed target token changes nothing before it"
    SOURCE_PADDING = "more padding on the source changes nothing at real positions"
    TARGET_PADDING = "more padding on the target changes nothing at real positions"
    STEPWISE = "decoding step by step with caches equals one parallel pass"
    INITIAL_VALUES = "parameters that it shares with the base start at the same values"


WITHOUT_CAUSAL_MASK = frozenset({Law.NO_FUTURE, Law.STEPWISE})


class Cache:
    """Data that a component of a model stores between the steps of decoding.

    The class itself stores nothing, for a component that needs no past tokens. A subclass with data
    overrides `reorder` and `keep`; a subclass of several caches overrides `parts`.
    """

    def parts(self) -> "Iterable[Cache]":
        """Return the caches that this cache consists of."""
        return ()

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by the state of row `rows[i]` of the same sentence."""
        for part in self.parts():
            part.reorder(rows)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows.

        `sentences` has the numbers of the sentences, counted from 0 in the present cache.
        """
        for part in self.parts():
            part.keep(sentences)


class State(Cache):
    """A cache of one tensor, `value`, which is None before the first step.

    The first two dimensions of `value` are the sentences and the hypotheses of a sentence.
    """

    def __init__(self) -> None:
        self.value: Float[Tensor, "M N *shape"] | None = None

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by the state of row `rows[i]`."""
        if self.value is not None:
            self.value = self.value.flatten(0, 1).index_select(0, rows).view_as(self.value)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows."""
        if self.value is not None:
            self.value = self.value.index_select(0, sentences)


class Seq2Seq(NamedTuple):
    """The inputs of a model that reads a source and predicts a target.

    `src` ends in EOS, `tgt_in` starts with BOS; both are padded with PAD on the right.
    """

    src: Int[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]


class Causal(NamedTuple):
    """The inputs of a model that continues a text.

    A row starts with BOS. If the row is a part of a longer text, it starts with the token before
    this part instead. PAD is on the right.
    """

    tokens: Int[Tensor, "B L"]


class CausalDocuments(NamedTuple):
    """The inputs of a model that continues texts, with several documents in a row.

    `documents` has the number of each token's document, counted from 0 in each row. A token attends
    only to tokens of its own document.
    """

    tokens: Int[Tensor, "B L"]
    documents: Int[Tensor, "B L"]


class Bidirectional(NamedTuple):
    """The inputs of a model that sees whole texts; EOS ends a text, PAD is on the right."""

    tokens: Int[Tensor, "B L"]


def texts(inputs: Any) -> tuple[Int[Tensor, "B L"], ...]:
    """Return the tensors of token ids in a model's inputs: a text, or a source and a target."""
    return inputs[:1] if isinstance(inputs, CausalDocuments) else tuple(inputs)


class Model(nn.Module, ABC):
    """Maps token ids to hidden states; its `head` maps hidden states to logits.

    Built as `model(src_vocab=, tgt_vocab=, joint_vocab=)`, with the sizes of both vocabularies and
    whether they are the same vocabulary; `src_vocab` is 0 if the task has no source. The other
    arguments come from its YAML file.

    `takes` lists the types of inputs that the model accepts. A model reads one text (`Causal`) or
    two (`Seq2Seq`: source and target). `reads` maps the name of each stack to the texts that the
    stack reads, as a slice of the list of texts.
    """

    breaks: frozenset[Law] = frozenset()  # without the laws that components break
    takes: ClassVar[frozenset[type]] = frozenset({Seq2Seq})
    reads: ClassVar[dict[str, slice]] = {"encoder": slice(0, 1), "decoder": slice(-1, None)}
    head: "Head"

    @abstractmethod
    def forward(self, inputs: Any) -> Float[Tensor, "B T D"]:
        """Return the hidden states that predict the targets of a batch.

        `inputs` has one of the types in `takes`.
        """

    def start(self, src: Int[Tensor, "B S"], beams: int) -> Cache:
        """Return the cache of step-by-step decoding, with `beams` rows for each source.

        Only a model that takes `Seq2Seq` needs `start` and `step`.
        """
        raise NotImplementedError

    def step(self, tokens: Int[Tensor, " R"], cache: Any) -> Float[Tensor, "R D"]:
        """Return, for each row, the hidden state that predicts the row's next token.

        `tokens` has the newest token of each row. The cache stores the token for later steps.
        """
        raise NotImplementedError

    def check_decoding(self) -> None:  # noqa: B027
        """Check that all components can decode step by step after a source.

        Raises:
            UserError: a component cannot decode step by step.
        """

    def check_documents(self) -> None:  # noqa: B027
        """Check that no component passes information between the documents of a row.

        Raises:
            UserError: a component passes information between documents.
        """

    def limits(self) -> dict[str, int | None]:
        """Return the largest numbers of tokens that the model accepts; None: no limit.

        Returns:
            source: largest number of source tokens.
            target: largest number of target tokens.
            both: largest number of source and target tokens together; only for a model that reads
                them as a single sequence.
        """
        return {"source": None, "target": None, "both": None}

    def attentions(self) -> Iterator[tuple[str, Any]]:
        """Yield each attention's name, such as "decoder.0.cross", and its kernel.

        A layer whose weights are shared occurs once.
        """
        yield from ()

    def layers(self) -> Iterator[tuple[str, list[nn.Parameter]]]:
        """Yield each layer's name, such as "encoder.0", and the list of its parameters."""
        yield from ()


class FillEmptyWithNaN(TorchFunctionMode):
    """Fills tensors from `torch.empty` with NaN, so that parameters that a constructor leaves
    uninitialised can be recognised.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function of torch."""
        result = func(*args, **(kwargs or {}))
        is_empty = func is torch.empty and result.is_floating_point()
        return result.fill_(torch.nan) if is_empty else result


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
    with torch.random.fork_rng(devices=[]), FillEmptyWithNaN():
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
