"""The seam of models: what training, search and probes need of one."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.model.attention.base import Kernel
from ablate.model.cache import Cache
from ablate.model.head.base import Head
from ablate.model.laws import Law


class Seq2Seq(NamedTuple):
    """Inputs of a model that reads one text and continues another.

    `src` ends in EOS, `tgt_in` starts with BOS; both are padded with PAD on the right.
    """

    src: Int[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]


class Causal(NamedTuple):
    """Inputs of a model that continues a text.

    A row starts with BOS, or with the token before it where it is cut out of a text. PAD is on the
    right.
    """

    tokens: Int[Tensor, "B L"]


class CausalDocuments(NamedTuple):
    """Inputs of a model that continues texts of which several may stand in a row.

    `documents` numbers them from 0 in each row; a token sees those of its own document alone.
    """

    tokens: Int[Tensor, "B L"]
    documents: Int[Tensor, "B L"]


class Bidirectional(NamedTuple):
    """Inputs of a model that sees a text as a whole: it ends in EOS, PAD is on the right."""

    tokens: Int[Tensor, "B L"]


def texts(inputs: Any) -> tuple[Int[Tensor, "B L"], ...]:
    """Return the token ids among the inputs of a model, one tensor for each text in a row."""
    return inputs[:1] if isinstance(inputs, CausalDocuments) else tuple(inputs)


class Model(nn.Module, ABC):
    """Tokens to states, which `head` turns into logits in training, scoring and search alike.

    Built as `model(src_vocab=, tgt_vocab=, joint_vocab=)`, the sizes of the vocabularies and
    whether both are the same one, beside what its YAML gives.

    `takes` are the types of inputs that it can read. `reads` says which texts of the inputs each
    stack reads, one after the other.
    """

    breaks: frozenset[Law] = frozenset()  # by its own settings, not those of its components
    takes: ClassVar[frozenset[type]] = frozenset({Seq2Seq})
    reads: ClassVar[dict[str, slice]] = {"encoder": slice(0, 1), "decoder": slice(-1, None)}
    head: Head

    @abstractmethod
    def forward(self, inputs: Any) -> Float[Tensor, "B T D"]:
        """Return the states that predict the targets of a batch; `inputs` are those of its task."""

    def start(self, src: Int[Tensor, "B S"], beams: int) -> Cache:
        """Return what step-by-step decoding remembers, `beams` rows for each source.

        A model that takes no `Seq2Seq` has no need of this and of `step`.
        """
        raise NotImplementedError

    def step(self, tokens: Int[Tensor, " R"], cache: Any) -> Float[Tensor, "R D"]:
        """Return the states that predict what follows each row's newest token."""
        raise NotImplementedError

    def check_decoding(self) -> None:  # noqa: B027
        """Look for components that cannot go on from a source, before a task that has sources.

        Raises:
            UserError: there is one.
        """

    def check_documents(self) -> None:  # noqa: B027
        """Look for components that cannot keep documents apart, before a task that has several.

        Raises:
            UserError: there is one.
        """

    def limits(self) -> dict[str, int | None]:
        """Return the tokens of the longest source and target that it can take; None: no limit.

        A model that reads both in one sequence limits `both` together.
        """
        return {"source": None, "target": None, "both": None}

    def attentions(self) -> Iterator[tuple[str, Kernel]]:
        """Yield the attentions to look at, as "decoder.0.cross", numbers counting layers."""
        yield from ()

    def layers(self) -> Iterator[tuple[str, list[nn.Parameter]]]:
        """Yield the parameters of each layer, as "encoder.0", whose gradients are compared."""
        yield from ()
