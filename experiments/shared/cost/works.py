"""Workloads whose cost is measured: parts of a Transformer and alternatives to them.

Equation: a workload is a function with random inputs; EQUAL lists pairs of workloads that should
    give the same result, which a probe checks. third_order: out_i = sum over j and k of a_ijk (v_j
    * w_k), a the softmax over all pairs j, k of sum over e of q_ie k_je l_ke; third_order_of_pairs
    has a softmax over all pairs j, k of q_i k_j + q_i l_k; third_order_factorised computes the same
    output as the product of two attentions.
Source: arXiv:1706.03762, section 3.2 and table 1; arXiv:1409.0473 and arXiv:1508.04025 (scores);
    arXiv:2006.04768 (Linformer); arXiv:2205.14135 (FlashAttention); arXiv:1906.06755, section 3.1
    (third order).
What differs: `flash` is torch's flash-attention kernel for the CPU. One layer, float32 by default,
    no masks and no dropout; `rest` is a layer without the token products of attention: four
    projections and a feed-forward network of four times the width.
What to expect: token products grow quadratically with the length, everything else linearly.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ablate.errors import UserError
from ablate.model.attention import Kernel
from ablate.model.attention.explicit import Additive, Explicit, General
from ablate.model.attention.linear import Linformer
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding import Mask, NoPadding
from ablate.model.position import NoPosition
from ablate.model.stack import LayerContext


class Sizes(NamedTuple):
    """Sizes of a workload's inputs."""

    length: int
    sentences: int
    d_model: int
    n_heads: int

    @property
    def d_head(self) -> int:
        """Width of a head."""
        return self.d_model // self.n_heads


class Work(NamedTuple):
    """A workload whose cost is measured: a function with its inputs.

    EQUAL lists pairs of workloads that should give the same result for the same inputs. The last
    input of such a workload must be a tensor of tokens, such as the values of attention. A probe
    compares the results again after it has shifted these tokens in one of the workloads, to show
    that the comparison can fail.

    Attributes:
        do: the function.
        inputs: its inputs.
    """

    do: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]

    def __call__(self) -> Tensor:
        """Apply the function to its inputs."""
        return self.do(*self.inputs)


def heads(sizes: Sizes, count: int) -> tuple[Float[Tensor, "B H L E"], ...]:
    """Return `count` random tensors split into heads, such as queries, keys and values."""
    shape = (sizes.sentences, sizes.n_heads, sizes.length, sizes.d_head)
    return tuple(torch.randn(shape) for _ in range(count))


def tokens(sizes: Sizes) -> Float[Tensor, "B L D"]:
    """Return random vectors of the tokens of a batch."""
    return torch.randn(sizes.sentences, sizes.length, sizes.d_model)


def by_kernel(kernel: Callable[[Sizes], Kernel], sizes: Sizes) -> Work:
    """Return a workload: attention by one of the project's kernels."""
    made, inputs = kernel(sizes).eval(), heads(sizes, 3)
    return Work(lambda q, k, v: made(q, k, v, Mask(), None), inputs)


def scaled(kind: type[Explicit | General], sizes: Sizes) -> Kernel:
    """Return a kernel with scaled scores: softmax attention, or attention with bilinear scores."""
    return kind(d_head=sizes.d_head, dropout=0.0, scale="sqrt_d_head", fill="zero_output")


def additive(sizes: Sizes) -> Kernel:
    """Return a kernel for attention with additive scores."""
    return Additive(d_head=sizes.d_head, dropout=0.0, fill="zero_output")


def linformer(rank: int, sizes: Sizes) -> Kernel:
    """Return a kernel for Linformer attention, which replaces the keys by `rank` linear
    combinations of the keys, and the values by as many combinations of the values.
    """
    kernel = Linformer(
        d_head=sizes.d_head,
        dropout=0.0,
        scale="sqrt_d_head",
        rank=rank,
        max_length=sizes.length,
    )
    for mixtures in kernel.parameters():
        nn.init.xavier_uniform_(mixtures)
    return kernel


def of_heads(do: Callable[..., Tensor], count: int, sizes: Sizes) -> Work:
    """Return a workload: a function of `count` random tensors that are split into heads."""
    return Work(do, heads(sizes, count))


def flash(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return attention by torch's flash-attention kernel, whatever the length."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v)


def loop(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return softmax attention, computed for one query at a time."""
    rows = []
    for position in range(q.size(2)):
        scores = k @ q[:, :, position, :, None] * q.size(3) ** -0.5
        rows.append((scores.softmax(2).mT @ v).squeeze(2))
    return torch.stack(rows, 2)


def third_order(q: Tensor, k: Tensor, other: Tensor, w: Tensor, v: Tensor) -> Tensor:
    """Return attention of a query to pairs of tokens.

    The score of a pair is the sum of the products of the entries of three vectors: the query, the
    key of the first token, and a key of the second token.
    """
    pairs = (q[:, :, :, None] * k[:, :, None]).flatten(2, 3)
    scores = (pairs @ other.mT).view(*q.shape[:3], *k.shape[2:3], -1)
    return mixed_pairs(scores / q.size(3), w, v)


def third_order_of_pairs(q: Tensor, k: Tensor, other: Tensor, w: Tensor, v: Tensor) -> Tensor:
    """Return attention of a query to pairs of tokens.

    The score of a pair is the sum of two dot products: of the query with the key of the first
    token, and of the query with a key of the second token.
    """
    q = q * q.size(3) ** -0.5
    scores = (q @ k.mT)[..., None] + (q @ other.mT)[..., None, :]
    return mixed_pairs(scores, w, v)


def mixed_pairs(
    scores: Float[Tensor, "B H L L L"], w: Float[Tensor, "B H L E"], v: Float[Tensor, "B H L E"]
) -> Float[Tensor, "B H L E"]:
    """Return for each query the sum of v_j * w_k over all pairs j, k of tokens, weighted by a
    softmax of the scores over all pairs.
    """
    weights = scores.flatten(3).softmax(3).view_as(scores)
    inner = (weights.flatten(2, 3) @ w).view(*scores.shape[:4], -1)
    return (inner * v[:, :, None]).sum(3)


def third_order_factorised(q: Tensor, k: Tensor, other: Tensor, w: Tensor, v: Tensor) -> Tensor:
    """Return third_order_of_pairs in factorised form, the product of two attentions."""
    q = q * q.size(3) ** -0.5
    return ((q @ k.mT).softmax(3) @ v) * ((q @ other.mT).softmax(3) @ w)


def rest(sizes: Sizes) -> Work:
    """Return a workload: the projections and the feed-forward network of a layer."""
    width = sizes.d_model
    packed, output = nn.Linear(width, 3 * width), nn.Linear(width, width)
    feed_forward = nn.Sequential(
        nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)
    )
    return Work(lambda x: feed_forward(output(packed(x)[..., :width])), (tokens(sizes),))


def multi_head(sizes: Sizes) -> Work:
    """Return a workload: self-attention with its projections."""
    block = SelfAttention(
        d_model=sizes.d_model,
        n_heads=sizes.n_heads,
        d_head=sizes.d_head,
        kernel=scaled(Explicit, sizes),
        padding=NoPadding(),
        causal=False,
    )
    real = torch.ones(sizes.sentences, sizes.length, dtype=torch.bool)
    at = LayerContext(
        torch.arange(sizes.length)[None], NoPosition(d_model=sizes.d_model), real, None
    )
    return Work(lambda x: block(x, at), (tokens(sizes),))


def norm_step(norm: Callable[[int], nn.Module], sizes: Sizes) -> Work:
    """Return a workload: the forward and backward pass of a norm in training mode.

    Raises:
        UserError: batch norm has a single token.
    """
    if norm is nn.BatchNorm1d and sizes.sentences * sizes.length < 2:
        raise UserError(
            f"probe.length is {sizes.length} or twice this number, and probe.sentences is "
            f"{sizes.sentences}: a single token has no variance, which batch norm needs in "
            "training, so set probe.sentences=2 or more"
        )
    made = norm(sizes.d_model)

    def do(x: Tensor, gradient: Tensor) -> Tensor:
        made.zero_grad()
        left = x.flatten(0, 1).detach().requires_grad_()
        with torch.enable_grad():
            torch.autograd.backward(made(left), gradient.flatten(0, 1))
        assert left.grad is not None
        return left.grad

    return Work(do, (tokens(sizes), tokens(sizes)))


def normed_linear(norm: Callable[[int], nn.Module], sizes: Sizes) -> Work:
    """Return a workload: a norm in evaluation mode, followed by a linear map."""
    made, matrix = trained(norm(sizes.d_model)), nn.Linear(sizes.d_model, sizes.d_model)
    return Work(lambda x: matrix(made(x.flatten(0, 1))), (tokens(sizes),))


def folded(sizes: Sizes) -> Work:
    """Return a workload: a linear map whose weights include those of the batch norm before it.

    In evaluation mode, a batch norm is an affine map, so one linear map can replace both.
    """
    norm, matrix = trained(nn.BatchNorm1d(sizes.d_model)), nn.Linear(sizes.d_model, sizes.d_model)
    assert isinstance(norm, nn.BatchNorm1d) and norm.running_var is not None
    assert norm.running_mean is not None
    gain = norm.weight * (norm.running_var + norm.eps).rsqrt()
    weight = (matrix.weight * gain).detach()
    shift = norm.bias - gain * norm.running_mean
    bias = (matrix.weight @ shift + matrix.bias).detach()
    return Work(lambda x: F.linear(x.flatten(0, 1), weight, bias), (tokens(sizes),))


def trained(norm: nn.Module) -> nn.Module:
    """Give a norm random statistics, gains and biases, and return it in evaluation mode."""
    for value in (*norm.parameters(), *norm.buffers()):
        if value.is_floating_point():
            nn.init.uniform_(value, 0.5, 1.5)
    return norm.eval()


WORKS: dict[str, Callable[[Sizes], Work]] = {
    "explicit": partial(by_kernel, partial(scaled, Explicit)),
    "general": partial(by_kernel, partial(scaled, General)),
    "additive": partial(by_kernel, additive),
    "linformer_32": partial(by_kernel, partial(linformer, 32)),
    "linformer_128": partial(by_kernel, partial(linformer, 128)),
    "flash": partial(of_heads, flash, 3),
    "loop": partial(of_heads, loop, 3),
    "third_order": partial(of_heads, third_order, 5),
    "third_order_of_pairs": partial(of_heads, third_order_of_pairs, 5),
    "third_order_factorised": partial(of_heads, third_order_factorised, 5),
    "rest": rest,
    "multi_head": multi_head,
    "layer_norm_step": partial(norm_step, nn.LayerNorm),
    "batch_norm_step": partial(norm_step, nn.BatchNorm1d),
    "layer_norm_linear": partial(normed_linear, nn.LayerNorm),
    "batch_norm_linear": partial(normed_linear, nn.BatchNorm1d),
    "batch_norm_folded": folded,
}
EQUAL = {
    "flash": "explicit",
    "loop": "explicit",
    "third_order_factorised": "third_order_of_pairs",
    "batch_norm_folded": "batch_norm_linear",
}
