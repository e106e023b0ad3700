"""Check how the installed version of torch treats masks, views by `Tensor.expand`, and buffers.

Equation: the weight on a key that a mask marks, by nn.MultiheadAttention and by
    scaled_dot_product_attention; an unmarked key is the control.
Source: torch as installed; the report contains its version.
What differs: random inputs in float64; the marks of a mask are True, 1, 1.0 or minus infinity.
What to expect: results that may change with the library. True hides a key in the module but keeps
    it in the function; a mask of 0.0 and 1.0 is added to the scores; an integer mask is rejected.
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, moved, raises

SENTENCES, HEADS, WIDTH = 2, 2, 8
MASKS = ("bool", "uint8", "int64", "float_one", "float_inf")
PLACES = ("key", "square", "square_3d")  # key_padding_mask, and attn_mask in its two shapes


class TorchLibrary(RandomModels):
    """A probe of functions and modules of the installed version of torch, such as its treatment of
    masks; the model is ignored.
    """

    length: Annotated[int, Range(3)]
    dtype = torch.float32
    largest = (
        *(f"{place}_{mask}" for place in PLACES for mask in MASKS),
        *("function_false", "layer_true"),
    )
    smallest = ("unmarked", "function_true", "polarity", "layer_false")
    single = (
        *("copied", "row_reads", "rows_differ", "other_rows_written"),
        *("buffer_faults", "attribute_faults", "transient_faults", "other_length_refused"),
        *("without_variable", "trained"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest or smallest value of each measurement over random weights and inputs.

        A mask marks some keys of an attention. PLACE is the argument that receives the mask: key is
        key_padding_mask, and square and square_3d are attn_mask with two or three dimensions. MASK
        is the type of the mask: a mark is True (bool), 1 (uint8, int64), 1.0 (float_one) or minus
        infinity (float_inf).

        Returns:
            PLACE_MASK, such as key_bool: largest weight of nn.MultiheadAttention on a marked key;
                NaN if the module rejects the mask.
            unmarked: mean total weight on the same keys without a mask, smallest over the draws.
            function_true, function_false: smallest total weight on the keys marked True, and
                largest weight on a key marked False, in
                torch.nn.functional.scaled_dot_product_attention.
            polarity: function_true minus key_bool, that is, how differently this function and
                nn.MultiheadAttention treat keys marked True.
            layer_true, layer_false: change of the outputs of nn.TransformerEncoderLayer at unmarked
                tokens when the marked tokens change, with and without the mask.
            copied: number of elements that `Tensor.expand` stores in addition to the original.
            rows_differ: number of rows of the expanded tensor that differ from the original.
            row_reads: number of rows of the expanded tensor that change when the original changes.
            other_rows_written: number of other rows of the expanded tensor that change when its
                first row is written to.
            buffer_faults, attribute_faults, transient_faults: number of faults of a constant that
                is stored as a buffer, as a plain attribute, and as a buffer with persistent=False.
                The five possible faults are that the constant is not in the state_dict, is not
                loaded, is not moved with the module, is a parameter, or has a gradient.
            other_length_refused: 1 if loading a buffer of another length raises an error.
            without_variable, trained: how much a training step changes a constant that is stored as
                a buffer, and one that is stored as a parameter.
        """
        return {**super().__call__(model), **expand(self.length), **constants()}

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the largest attention weight on the keys that a mask marks, for random inputs and
        for each argument and type of the mask, and the other measurements of masks.

        `__call__` explains the names of the measurements.
        """
        x = torch.randn(SENTENCES, self.length, HEADS * WIDTH, generator=generator).double()
        module = nn.MultiheadAttention(HEADS * WIDTH, HEADS, batch_first=True).double()
        for parameter in module.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
        marks = torch.rand(self.length, generator=generator) < 0.5
        marks[:2] = torch.tensor([True, False])
        measurements = {
            f"{place}_{mask}": marked_weight(module, x, place, marked(marks, mask), marks)
            for place in PLACES
            for mask in MASKS
        }
        yield from measurements.items()
        q, k = torch.randn(2, SENTENCES, HEADS, self.length, WIDTH, generator=generator).double()
        v = torch.eye(self.length).double().expand(SENTENCES, HEADS, -1, -1)
        weights = F.scaled_dot_product_attention(q, k, v, marks.expand(self.length, -1))
        true = weights[..., marks].sum(-1).min()
        yield "unmarked", module(x, x, x)[1][..., marks].sum(-1).mean()
        yield "function_true", true
        yield "function_false", weights[..., ~marks]
        yield "polarity", true - measurements["key_bool"]
        yield from layer(x, marks, generator)


def layer(
    x: Float[Tensor, "B L D"], marks: Bool[Tensor, " L"], generator: torch.Generator
) -> Measured:
    """Yield how much the outputs of nn.TransformerEncoderLayer at unmarked tokens change if the
    marked tokens are replaced.

    Yields:
        layer_true: change with a padding mask that is True at the marked tokens.
        layer_false: change without a mask.
    """
    module = nn.TransformerEncoderLayer(x.size(2), HEADS, WIDTH, 0.0, batch_first=True).double()
    for parameter in module.parameters():
        parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    other = torch.where(marks[:, None], x.flip(2), x)
    for name, mask in (("layer_true", marks.expand(len(x), -1)), ("layer_false", None)):
        yield name, moved(*(module(y, src_key_padding_mask=mask)[:, ~marks] for y in (x, other)))


def marked(marks: Bool[Tensor, " K"], mask: str) -> Tensor:
    """Return a mask of a given type that marks some keys.

    Args:
        marks: whether each key is marked.
        mask: type of the mask: bool, uint8, int64, float_one (1.0 at marked keys) or float_inf
            (minus infinity at marked keys).
    """
    if mask == "float_inf":
        return torch.zeros(marks.shape).double().masked_fill(marks, -torch.inf)
    types = {"bool": torch.bool, "uint8": torch.uint8, "int64": torch.int64}
    return marks.to(types.get(mask, torch.float64))


def marked_weight(
    module: nn.MultiheadAttention,
    x: Float[Tensor, "B L D"],
    place: str,
    mask: Tensor,
    marks: Bool[Tensor, " L"],
) -> float:
    """Return the largest attention weight on a marked key; NaN if the module rejects the mask.

    Args:
        module: the attention module.
        x: queries, keys and values.
        place: the argument that receives the mask: "key" for key_padding_mask, or "square" or
            "square_3d" for attn_mask with two or three dimensions.
        mask: the mask, with an entry for each key.
        marks: whether each key is marked.
    """
    sentences, length, _ = x.shape
    given = {
        "key": {"key_padding_mask": mask.expand(sentences, -1)},
        "square": {"attn_mask": mask.expand(length, -1)},
        "square_3d": {"attn_mask": mask.expand(sentences * HEADS, length, -1)},
    }[place]
    try:
        return float(module(x, x, x, **given)[1][..., marks].max())
    except (RuntimeError, AssertionError):
        return torch.nan


def expand(length: int) -> dict[str, float]:
    """Return measurements that show whether the rows of a tensor from `Tensor.expand` share the
    memory of the original.

    Returns:
        copied, rows_differ, row_reads, other_rows_written: see `TorchLibrary.__call__`.
    """
    row = torch.arange(length).double()[None]
    rows = row.expand(length, -1)
    copied = rows.untyped_storage().nbytes() - row.untyped_storage().nbytes()
    differ = float((rows != row).any(1).sum())
    before = rows.clone()
    rows[0].add_(1)
    written = float((rows != before).any(1)[1:].sum())
    row[0, 0] = -1
    return {
        "copied": copied / row.itemsize,
        "rows_differ": differ,
        "row_reads": float((rows[:, 0] == -1).sum()),
        "other_rows_written": written,
    }


class Constant(nn.Module):
    """A module that adds a constant table to its input.

    Args:
        table: the constant to add.
        kept: how the table is stored: buffer | transient (a buffer that is not saved) | attribute |
            parameter.
    """

    table: Tensor

    def __init__(self, table: Float[Tensor, "L D"], kept: str) -> None:
        super().__init__()
        if kept in ("buffer", "transient"):
            self.register_buffer("table", table, persistent=kept == "buffer")
        else:
            self.table = nn.Parameter(table) if kept == "parameter" else table

    def forward(self, x: Float[Tensor, "L D"]) -> Float[Tensor, "L D"]:
        """Return x plus the constant table that was given to the constructor."""
        return x + self.table


def constants() -> dict[str, float]:
    """Return how a constant behaves if a module stores it as a buffer, as a plain attribute or as a
    parameter.

    `TorchLibrary.__call__` explains the names of the measurements.
    """
    saved, longer = (Constant(torch.ones(n, 2), "buffer") for n in (4, 5))
    refused = raises(lambda: longer.load_state_dict(saved.state_dict()), RuntimeError)
    return {
        "buffer_faults": faults("buffer"),
        "attribute_faults": faults("attribute"),
        "transient_faults": faults("transient"),
        "other_length_refused": float(refused),
        "without_variable": step("buffer"),
        "trained": step("parameter"),
    }


def faults(kept: str) -> float:
    """Return the number of faults of a constant table in a module: it is not in the state_dict, is
    not loaded, is not moved with the module, is a parameter, or has a gradient.

    Args:
        kept: how the module stores the table: "buffer", "transient" (a buffer that is not saved) or
            "attribute".
    """
    first, other = Constant(torch.ones(4, 2), kept), Constant(torch.zeros(4, 2), kept)
    other.load_state_dict(first.state_dict())
    first(torch.ones(4, 2, requires_grad=True)).sum().backward()
    wrong = [
        "table" not in first.state_dict(),
        not torch.equal(first.table, other.table),
        any(True for _ in first.parameters()),
        first.table.grad is not None,
        first.to("meta").table.device.type != "meta",
    ]
    return float(sum(wrong))


def step(kept: str) -> float:
    """Return the largest absolute change of a constant table in a module by one training step.

    Args:
        kept: how the module stores the table: "buffer" or "parameter".
    """
    module, plain = Constant(torch.ones(4, 2), kept), torch.ones(4, 2)
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight, *module.parameters()], lr=0.1)
    (module(torch.zeros(4, 2)) * weight).sum().backward()
    optimizer.step()
    return float(moved(module.table.detach(), plain))
