"""Compare the classes and functions that a code listing defines with components of this project.

An exam is a function that runs in the child process and receives the class or function of the
listing. Each exam yields numbers: `gap` is the largest difference between the outputs of the
listing and the formula; `perturbed` is the same difference when the listing gets another weight or
input (the control). Further numbers depend on the exam.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.model.attention.explicit import Explicit
from ablate.model.embedding import Table
from ablate.model.feed_forward import PositionWise
from ablate.model.padding import Mask
from ablate.model.position.added import Sinusoidal
from experiments.shared.probe.draws import Measured

D, H, LENGTH, SENTENCES, VOCAB = 12, 3, 5, 2, 9
# for each shape of masks, the function that makes such a mask from a mask "B Q K"
SHAPES: dict[str, Callable[[Tensor], Tensor]] = {
    "B K": lambda keep: keep[:, 0],
    "B Q K": lambda keep: keep,
    "B 1 Q K": lambda keep: keep[:, None],
}


def apart(x: Tensor, y: Tensor) -> float:
    """Return the largest absolute difference; 1 if the shapes differ."""
    return float((x.double() - y.double()).abs().max()) if x.shape == y.shape else 1.0


def tokens() -> Tensor:
    """Return random token vectors of the shape "B L D"."""
    return torch.randn(SENTENCES, LENGTH, D)


def norm(defined: Any, *, eps_outside: bool) -> Measured:
    """Compare a layer norm, which a code listing of a document defines, with the formula of layer
    norm.

    Args:
        defined: class of the listing.
        eps_outside: whether the formula adds eps to the standard deviation instead of the variance.

    Yields:
        gap: largest difference from the formula.
        torch: largest difference from torch.nn.functional.layer_norm.
        perturbed: the gap if the module gets another input.
    """
    module, x = defined(D), 3 + 2 * tokens()
    gain, bias = module.parameters()
    nn.init.normal_(gain)
    nn.init.normal_(bias)
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    size = variance.sqrt() + module.eps if eps_outside else (variance + module.eps).sqrt()
    wanted = gain * centred / size + bias
    yield "gap", apart(module(x), wanted)
    yield "torch", apart(module(x), F.layer_norm(x, (D,), gain, bias, module.eps))
    yield "perturbed", apart(module(x + torch.randn_like(x)), wanted)


def feed_forward(defined: Any) -> Measured:
    """Compare a feed-forward layer, which a code listing of a document defines, with this project's
    layer, to which the weights are copied.

    Args:
        defined: class of the listing.

    Yields:
        gap: largest difference of the outputs.
        perturbed: the gap if the module gets another input.
    """
    module, x = defined(D, 4 * D).eval(), tokens()
    ours = PositionWise(d_model=D, d_ff=4 * D, dropout=0.0, activation="relu").eval()
    copy_in_order(module, ours)
    wanted = ours.transform(x)
    yield "gap", apart(module(x), wanted)
    yield "perturbed", apart(module(x + 1), wanted)


def embedding(defined: Any, *, scaled: bool) -> Measured:
    """Compare an embedding, which a code listing of a document defines, with this project's
    embedding, to which the weights are copied.

    Args:
        defined: class of the listing.
        scaled: whether this project's embedding multiplies the vectors by sqrt(d_model).

    Yields:
        gap: largest difference of the outputs.
        perturbed: the gap if the module gets other token ids.
    """
    module, ids = defined(VOCAB, D), torch.randint(VOCAB, (SENTENCES, LENGTH))
    ours = Table(VOCAB, D, scaled=scaled)
    copy_in_order(module, ours)
    other = (ids + 1) % VOCAB
    yield "gap", apart(module(ids), ours(ids))
    yield "perturbed", apart(module(other), ours(ids))


def positions(defined: Any, *, scaled: bool) -> Measured:
    """Compare the sinusoidal positions that a code listing of a document defines with this
    project's sinusoidal positions.

    Args:
        defined: class of the listing.
        scaled: whether the class should multiply the token vectors by sqrt(d_model) before it adds
            the positions.

    Yields:
        gap: largest difference of the outputs.
        perturbed: the gap if the listing's module gets another input.
        longest: largest number of tokens, among 80, 81, 500 and 501, that this module accepts.
        saved: 1 if its state_dict contains the table of positions, else 0.
        trained: number of its parameter tensors.
    """
    module, x = defined(D).eval(), tokens()
    ours = Sinusoidal(d_model=D, layout="interleaved", spacing="half")
    wanted = ours.embed(x * (D**0.5 if scaled else 1.0), torch.arange(LENGTH)[None])
    yield "gap", apart(module(x), wanted)
    yield "perturbed", apart(module(x + 1), wanted)
    lengths = [n for n in (80, 81, 500, 501) if _takes(module, n)]
    yield "longest", max(lengths, default=0)
    yield "saved", "pe" in module.state_dict()
    yield "trained", len(list(module.parameters()))


def _takes(module: Any, length: int) -> bool:
    try:
        return bool(module(torch.zeros(1, length, D)).shape == (1, length, D))
    except RuntimeError:
        return False


def attention(defined: Any) -> Measured:
    """Compare scaled dot-product attention, which a code listing of a document defines, with this
    project's attention.

    Args:
        defined: function of the listing.

    Yields:
        gap: largest difference of the outputs.
        perturbed: the gap if the keys are added to the listing's output.
        masked_gap, mask_effect, hides: results with a mask; see `by_mask`.
    """
    q, k, v = (tokens() for _ in range(3))
    keep = some_keys()

    def theirs(mask: Tensor | None) -> Tensor:
        return defined(q, k, v, mask)[0]

    wanted, masked = (by_kernel(q, k, v, 1, mask) for mask in (None, keep))
    yield "gap", apart(theirs(None), wanted)
    yield "perturbed", apart(theirs(None) + k, wanted)
    yield from by_mask(theirs, masked, keep)


def multi_head(defined: Any, *, sizes: list[str], mask: str, maps: list[str]) -> Measured:
    """Compare multi-head attention, which a code listing of a document defines, with this project's
    attention, computed from the listing's projections.

    Args:
        defined: class of the listing.
        sizes: order of the arguments of the class; their names are heads, width and dropout.
        mask: shape of the masks that the module should accept, a key of `SHAPES`.
        maps: names of the module's projections to queries, keys, values and output.

    Yields:
        gap: largest difference of the outputs.
        torch: largest difference from torch.nn.MultiheadAttention.
        perturbed: the gap if all sentences except the first get other inputs.
        mates: change of the first sentence's output if the other sentences of the batch change.
        masked_gap, mask_effect, hides: results with a mask; see `by_mask`.
    """
    arguments = {"heads": H, "width": D, "dropout": 0.0}
    module = defined(*(arguments[size] for size in sizes)).eval()
    q, k, v = (tokens() for _ in range(3))
    changed_inputs = [torch.cat([x[:1], torch.randn_like(x[1:])]) for x in (q, k, v)]
    keep = some_keys()
    to_q, to_k, to_v, out = (getattr(module, name) for name in maps)

    def ours(mask: Tensor | None) -> Tensor:
        return out(by_kernel(to_q(q), to_k(k), to_v(v), H, mask))

    def theirs(given: Tensor | None) -> Tensor:
        return module(q, k, v, None if given is None else SHAPES[mask](given))

    plain, moved = theirs(None), module(*changed_inputs)
    yield "gap", apart(plain, ours(None))
    yield "torch", apart(plain, by_torch([to_q, to_k, to_v, out], q, k, v))
    yield "perturbed", apart(moved, ours(None))
    yield "mates", apart(moved[:1], plain[:1])
    yield from by_mask(theirs, ours(keep), keep)


def padding_mask(defined: Any) -> Measured:
    """Compare the padding mask that a code listing of a document computes with a mask that is 1 at
    padding keys and 0 elsewhere.

    Args:
        defined: function of the listing.

    Yields:
        gap: largest difference of the masks.
        perturbed: the gap if the keys are given in reverse order.
        hides: the listing's value at a padding key.
    """
    queries = torch.randint(1, VOCAB, (SENTENCES, LENGTH - 1))
    keys = torch.randint(1, VOCAB, (SENTENCES, LENGTH))
    keys[1, 3:] = 0
    mask = defined(queries, keys)
    wanted = (keys == 0)[:, None].expand(SENTENCES, LENGTH - 1, LENGTH)
    yield "gap", apart(mask, wanted)
    yield "perturbed", apart(defined(queries, keys.flip(1)), wanted)
    yield "hides", mask[1, 0, -1]


def sequence_mask(defined: Any) -> Measured:
    """Compare the causal mask that a code listing of a document computes with a mask that is 1
    above the diagonal and 0 elsewhere.

    Args:
        defined: function of the listing.

    Yields:
        gap: largest difference of the masks.
        perturbed: the gap if the second mask is transposed.
        hides: the listing's value at a later token.
    """
    mask = defined(torch.ones(SENTENCES, LENGTH))
    later = torch.ones(LENGTH, LENGTH).triu(1).expand(SENTENCES, LENGTH, LENGTH)
    yield "gap", apart(mask, later)
    yield "perturbed", apart(mask, later.mT)
    yield "hides", mask[0, 0, -1]


def sublayer(defined: Any) -> Measured:
    """Compare a sub-layer, which a code listing of a document defines, with LayerNorm(x +
    sublayer(x)).

    Args:
        defined: class of the listing.

    Yields:
        gap: largest difference of the outputs.
        perturbed: the gap if the listing's class gets another inner function.
        sum: the gap after the listing's norm is replaced by torch.nn.LayerNorm, so that only the
            sum x + sublayer(x) is compared.
    """
    module, x, apply = defined(D).eval(), 3 + tokens(), nn.Linear(D, D)
    wanted = F.layer_norm(x + apply(x), (D,), eps=module.norm.eps)
    yield "gap", apart(module(x, apply), wanted)
    yield "perturbed", apart(module(x, torch.cos), wanted)
    module.norm = nn.LayerNorm(D, eps=module.norm.eps)
    yield "sum", apart(module(x, apply), wanted)


def some_keys() -> Tensor:
    """Return a mask "B L L" with 1 at the keys that may be attended to; the second sentence is
    shorter.
    """
    keep = torch.ones(SENTENCES, LENGTH, LENGTH)
    keep[1, :, 3:] = 0
    return keep


def by_kernel(q: Tensor, k: Tensor, v: Tensor, heads: int, keep: Tensor | None) -> Tensor:
    """Return multi-head attention, before the output projection, computed by this project's
    kernel.
    """
    kernel = Explicit(d_head=D // heads, dropout=0.0, scale="sqrt_d_head", fill="minus_inf")
    parts = [x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v)]  # type: ignore[no-untyped-call]
    mask = Mask(pairs=None if keep is None else keep[:, None].bool())
    q, k, v = parts
    return kernel(q, k, v, mask, None).transpose(1, 2).flatten(2)


def by_torch(maps: list[nn.Linear], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return multi-head attention computed by torch.nn.MultiheadAttention.

    `maps` has the projections to queries, keys, values and output.
    """
    module = nn.MultiheadAttention(D, H, batch_first=True).eval()
    *reading, out = maps
    module.in_proj_weight.copy_(torch.cat([m.weight for m in reading]))
    assert module.in_proj_bias is not None
    module.in_proj_bias.copy_(torch.cat([m.bias for m in reading]))
    module.out_proj.load_state_dict(out.state_dict())
    output: Tensor = module(q, k, v, need_weights=False)[0]
    return output


def by_mask(theirs: Callable[[Tensor | None], Tensor], masked: Tensor, keep: Tensor) -> Measured:
    """Yield how a mask changes the output of a code listing, and the difference from this
    project's output with the mask.

    Either 0 or 1 may hide a key in the listing's masks. So the mask and its inverse are tried, and
    the smaller difference counts.

    Args:
        theirs: function that returns the listing's output for a mask, or for None without a mask.
        masked: this project's output with the mask.
        keep: the mask, 1 at keys that may be attended to.

    Yields:
        masked_gap: largest difference of the outputs; 1 if the listing raises an error.
        mask_effect: change of the listing's output by the mask; 0 if the listing raises an error.
        hides: the mask's value, 0 or 1, that hides a key; missing if the mask changes nothing.
    """
    try:
        outputs = [theirs(mask) for mask in (keep, 1 - keep)]
    except RuntimeError:
        yield "mask_effect", 0.0
        yield "masked_gap", 1.0
        return
    gaps = [apart(output, masked) for output in outputs]
    effect = apart(outputs[0], theirs(None))
    yield "mask_effect", effect
    yield "masked_gap", min(gaps)
    if effect:
        yield "hides", gaps.index(min(gaps))


def copy_in_order(source: nn.Module, target: nn.Module) -> None:
    """Copy the parameters of one module to another, paired by the order in which the modules
    declare them.
    """
    pairs = zip(source.parameters(), target.parameters(), strict=True)
    with torch.no_grad():
        for theirs, ours in pairs:
            ours.copy_(theirs)


EXAMS: dict[str, Callable[..., Measured]] = {
    exam.__name__: exam
    for exam in (
        *(norm, feed_forward, embedding, positions, attention, multi_head),
        *(padding_mask, sequence_mask, sublayer),
    )
}
