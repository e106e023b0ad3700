"""The interface and the options of heads: a head maps the hidden states of a model to logits."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import process
from ablate.config.limits import Range
from ablate.loss import Loss
from ablate.model import Law
from ablate.model.layers import BLOCK, blocks, hooked_output, is_compiled, product_dtype


class Head(nn.Module, ABC):
    """The output layer, which maps hidden states to logits. A Transformer constructs it as
    `head(weight=...)`.

    `weight` is a function that returns the matrix of shape "V D". The matrix may belong to the
    embedding.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def forward(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits over the target vocabulary."""

    def score(
        self, loss: Loss, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the objective and the negative log-likelihood, each as a mean over the targets.

        States and targets have N rows, one row for each predicted token.
        """
        return loss(self(states), targets)

    def chunks(self, n: int) -> Iterator[slice]:
        """Yield slices that split n hidden states into chunks whose logits fit into memory."""
        yield slice(0, n)


AT_ONCE = 1 << 23  # bytes of logits in a chunk
AT_ONCE_ON_GPU = 1 << 28
FEW = 1 << 20  # bytes of logits up to which autograd, with fewer operations, is faster on a CPU


class LinearHead(Head):
    """A linear head: the logits are the product of a matrix and the hidden state.

    A head with one matrix and no bias.

    Equation: logits = W h.
    Source: arXiv:1706.03762, section 3.4.
    What differs: no bias. The logits of a batch are its largest tensor (4096 tokens x 8000
        subwords: 131 MB); writing and reading them costs more than computing them. Therefore, if
        the loss is a mean over rows and there are more logits than 1 MiB, logits, loss and
        gradients are computed for a chunk of rows at a time, and all chunks use the same memory.
    What to expect: the same results as without chunks, except for rounding.

    Args:
        weight: function that returns the matrix, "V D", which may belong to the embedding.
    """

    def __init__(self, weight: Callable[[], Tensor]) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits over the target vocabulary."""
        return F.linear(states, self.weight())

    def score(
        self, loss: Loss, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the objective and the nll, each as a mean over the targets.

        With gradients enabled, both are computed in chunks of rows if the loss is a mean over rows
        and has no parameters, unless there are so few logits that autograd is faster.
        """
        weight = self.weight()
        in_chunks = loss.mean_over_rows and not any(True for _ in loss.parameters())
        if not (in_chunks and torch.is_grad_enabled()) or by_autograd(states, weight):
            return super().score(loss, states, targets)
        if (logits := hooked_output(self, states)) is not None:
            return loss(logits, targets)
        objective, nll = _Chunked.apply(loss, targets, states, weight)  # type: ignore[no-untyped-call]
        return objective, nll

    def chunks(self, n: int) -> Iterator[slice]:
        """Yield slices of n hidden states; the logits of a slice take about AT_ONCE bytes."""
        return slices(n, rows_at_once(self.weight()))


def by_autograd(states: Float[Tensor, "N D"], weight: Float[Tensor, "V D"]) -> bool:
    """Return whether autograd computes the gradient of a loss faster than chunks of rows do.

    Autograd needs fewer operations, but more passes over the logits. In half precision, it would
    round the gradient of a mean over rows.
    """
    if torch.compiler.is_compiling():
        return True
    if not process.uses_cpu_path(states.device):
        return len(states) <= rows_at_once(weight)
    few = len(states) * len(weight) * weight.itemsize <= FEW
    return few and product_dtype(states).itemsize >= 4


def slices(n: int, rows: int) -> Iterator[slice]:
    """Yield slices that split n rows into chunks of `rows` rows."""
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


def rows_at_once(weight: Float[Tensor, "V D"]) -> int:
    """Return the number of rows in a chunk, a multiple of BLOCK.

    The logits of a chunk take at most AT_ONCE bytes, or AT_ONCE_ON_GPU bytes on a GPU, unless BLOCK
    rows take more. There are at least BLOCK rows, because every chunk adds to a gradient as large
    as the weight matrix.
    """
    at_once = AT_ONCE if process.uses_cpu_path(weight.device) else AT_ONCE_ON_GPU
    rows = at_once // (len(weight) * weight.itemsize)
    return max(BLOCK, rows - rows % BLOCK)


class _Chunked(torch.autograd.Function):
    """Computes loss and gradients for a chunk of rows at a time, already in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any, loss: Loss, targets: Tensor, states: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        dtype = product_dtype(states)
        columns = weight.to(dtype)
        rows = blocks(states, dtype, BLOCK if is_compiled(states) else 1)
        to_states, to_weight = torch.empty_like(rows), torch.zeros_like(weight)
        wide = torch.promote_types(states.dtype, torch.float32)
        total, coefficient = torch.zeros(2, dtype=wide, device=states.device), 0.0
        at_once = min(rows_at_once(columns), len(rows))
        logits, gradient = rows.new_empty(2, at_once, len(columns))
        for chunk in slices(len(rows), at_once):
            x, true = rows[chunk], targets[chunk]
            scores, by_scores = logits[: len(x)], gradient[: len(x)]
            torch.mm(x, columns.T, out=scores)
            *sums, coefficient = loss.gradient(scores[: len(true)], true, by_scores[: len(true)])
            by_scores[len(true) :] = 0  # rows of padding at the end of a block
            torch.mm(by_scores, columns, out=to_states[chunk])
            to_weight += by_scores.T @ x
            total += torch.stack(sums)
        if coefficient:
            row, column = (x.sum(0, dtype=total.dtype) for x in (rows, columns))
            total[0] += coefficient * row @ column
            to_states += coefficient * column.to(dtype)
            to_weight += coefficient * row
        ctx.save_for_backward(to_states[: len(states)].to(states.dtype), to_weight)
        ctx.n = len(targets)
        objective, nll = (total / ctx.n).unbind()
        ctx.mark_non_differentiable(nll)
        return objective, nll

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[None, None, Tensor, Tensor]:
        to_states, to_weight = ctx.saved_tensors
        mean = upstream[0] / ctx.n
        return None, None, to_states * mean, to_weight * mean


class SoftCap(LinearHead):
    """Soft-capped logits: a scaled tanh limits them to an interval.

    A linear head whose logits pass through a scaled tanh.

    Equation: logits = cap * tanh(W h / cap).
    Source: arXiv:2408.00118, section 2 (Gemma 2: cap 30 for the logits of the last layer).
    What differs: Gemma 2 also caps the attention scores, at 50; here attention scores are not
        capped. The logits of a batch are computed at once, whereas `linear` computes them in
        chunks.
    What to expect: logits stay between -cap and cap, and small logits hardly change. The loss of a
        trained model is nearly the same, and training takes more memory.

    Args:
        weight: function that returns the matrix of shape "V D".
        cap: upper limit of the absolute value of a logit.
    """

    def __init__(
        self, *, weight: Callable[[], Tensor], cap: Annotated[float, Range(0, above=True)]
    ) -> None:
        super().__init__(weight)
        self.cap = cap

    def forward(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits over the target vocabulary."""
        return self.cap * torch.tanh(super().forward(states) / self.cap)

    # not in chunks of rows, whose gradient would lack the factor of the tanh that limits the logits
    score = Head.score
