"""From a source to token ids: what every search gives, and what it needs of a model."""

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.data.vocabulary import EOS, PAD
from ablate.errors import UserError


@runtime_checkable
class State(Protocol):
    """The decoder's memory of what it has produced: `beams` rows for each sentence."""

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row `rows[i]`, of the same sentence, has produced."""

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these."""


@runtime_checkable
class Model(Protocol):
    """What decodes step by step; `ablate.model.base.Model` does."""

    def start(self, src: Int[Tensor, "B S"], beams: int) -> Any:
        """Return the `State` before the first step."""

    def step(self, tokens: Int[Tensor, " R"], cache: Any) -> Float[Tensor, "R D"]:
        """Return the states that predict each row's next token, given its last one."""

    @property
    def head(self) -> Any:
        """What turns states into logits."""


class Search(ABC):
    """A rule that picks one translation out of all that the model can produce.

    A translation is a list of ids without PAD, BOS and EOS, of at most `max_ratio` * n +
    `max_extra` tokens for a source of n tokens, EOS counted on neither side. It depends on its own
    source only, not on the other sentences of the batch or their order (except where rounding
    decides between hypotheses that are equally good). The caller sets `model.eval()`.

    Raises:
        UserError: `max_ratio` or `max_extra` is negative or no number.
    """

    # of the newest call: decoder passes, each of which waits for the one before, that a sentence
    # takes; None where nobody counts them
    steps: Int[Tensor, " B"] | None = None

    def __init__(self, max_ratio: int | float, max_extra: int) -> None:
        require(float, 0, max_ratio=max_ratio)
        require(int, 0, max_extra=max_extra)
        self.max_ratio = max_ratio
        self.max_extra = max_extra

    @abstractmethod
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""

    def limits(self, src: Int[Tensor, "B S"]) -> Int[Tensor, " B"]:
        """Return the longest allowed translation of each sentence, whatever its batch mates."""
        real: Bool[Tensor, "B S"] = (src != PAD) & (src != EOS)
        return (self.max_ratio * real.sum(1) + self.max_extra).long()


MOST = {  # beyond them no translation gets better, and numbers or memory overflow
    "size": 1_000,
    "length_penalty": 10,
    "max_ratio": 1_000,
    "max_extra": 100_000,
}


def require(kind: type[int | float], smallest: int, **settings: int | float) -> None:
    """Refuse settings of a search that are not numbers of a kind, too small, or above `MOST`.

    Raises:
        UserError: one of them is.
    """
    wanted = "a whole number" if kind is int else "a number"
    for key, value in settings.items():
        if not (isinstance(value, int | kind) and smallest <= value <= MOST[key]):
            raise UserError(
                f"search.{key} is {value!r}: it must be {wanted}, at least {smallest} and at most "
                f"{MOST[key]:,}"
            )


def until_eos(ids: Int[Tensor, "B T"], limits: Int[Tensor, " B"]) -> list[list[int]]:
    """Return each row up to its limit or its first EOS, whichever comes first."""
    rows = [row[:limit] for row, limit in zip(ids.tolist(), limits.tolist(), strict=True)]
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def worth_dropping(n_live: int, n_rows: int) -> bool:
    """Whether so many sentences have ended that leaving them out pays for copying the others."""
    return n_live <= 0.875 * n_rows
