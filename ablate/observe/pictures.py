"""Draw pictures of a trained model: attention weights for one sentence, and position vectors.

The colour maps (viridis, cividis) increase in lightness, so they work in greyscale and for
colour-blind readers.
"""

import warnings
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from lightning_fabric.utilities import move_data_to_device
from PIL import Image
from torch import Tensor

from ablate.data import PAD
from ablate.data.batching import Batch
from ablate.data.module import TextData
from ablate.data.tokenizer import Tokenizers
from ablate.model import Model, texts
from ablate.model.attention import attention_weights
from ablate.model.stack import Stack

HEADS = 4  # number of heads shown for each attention
TOKENS = 12  # a sentence with about this number of tokens is shown
LINES = 100  # the sentence is one of the first LINES validation lines
LONGEST_LABEL = 10
SHOWN = 32  # number of positions shown
TOKEN_CELL = 24  # pixels
PANEL = 480  # approximate side length of the picture of positions in pixels
MARGIN = 250  # pixels for names, labels and the colour bar
DPI = 100
STYLE = {
    **{"font.size": 12, "text.parse_math": False},  # a token may have dollar signs
    **dict.fromkeys(("axes.titlesize", "figure.titlesize", "figure.labelsize"), "medium"),
}


class Axis(NamedTuple):
    """An axis of a heat map: its name with unit, labels by cell number, the pixels per cell, and
    the angle of its labels if it is horizontal.
    """

    name: str
    labels: Mapping[int, str]
    cell: int
    angle: int = 0


class Scale(NamedTuple):
    """A colour scale: name with unit, lowest and highest value, and a colour map of matplotlib."""

    name: str
    low: float
    high: float
    colours: str


def pictures(
    model: Model, data: TextData, device: torch.device
) -> Iterator[tuple[str, Image.Image]]:
    """Yield names and pictures: attention in the last layers, and position vectors if any."""
    lines = data.first_lines("validation", LINES)
    yield from draw_attention(model, data.tokenizers, shown_line(lines), device)
    tables = position_tables(model, device)
    if any(table.any() for table in tables.values()):
        yield "position", draw_positions(tables)


def shown_line(lines: Batch) -> Batch:
    """Return the example of a batch whose target length is closest to TOKENS, without padding."""
    line = int(((lines.targets != PAD).sum(1) - TOKENS).abs().argmin())
    real = [ids[line] != PAD for ids in texts(lines.inputs)]
    # numbers of documents, which follow the tokens, have the padding of the tokens
    fields = zip_longest(lines.inputs, real, fillvalue=real[-1])
    inputs = type(lines.inputs)(*(numbers[line][kept][None] for numbers, kept in fields))
    targets = lines.targets[line]
    return Batch(inputs, targets[targets != PAD][None], lines.lines[line, None])


def draw_attention(
    model: Model, tokenizers: Tokenizers, example: Batch, device: torch.device
) -> Iterator[tuple[str, Image.Image]]:
    """Yield the name and a picture of the attention weights in the last layer of each stack.

    The decoder reads the reference of the example.
    """
    if not any(True for _ in model.attentions()):
        return
    inputs = move_data_to_device(example.inputs, device)
    last = {}  # last layer of each kind of attention
    for name, weights in attention_weights(model, inputs).items():
        side, number, kind = name.split(".")
        last[side, kind] = int(number) + 1, weights
    axes = {stack: _axis(tokenizers, example, read) for stack, read in model.reads.items()}
    for (side, kind), (layer, weights) in last.items():
        heads = weights[0, :HEADS].float().cpu().numpy()
        yield (
            f"attention/{side}_{kind}",
            heatmaps(
                f"{side}, layer {layer}, {kind}-attention: row reads from column",
                {f"head {number}": values for number, values in enumerate(heads, start=1)},
                x=axes["encoder" if kind == "cross" else side],
                y=axes[side],
                scale=Scale("attention weight", 0.0, float(heads.max()), "viridis"),
            ),
        )


@torch.no_grad()
def position_tables(model: Model, device: torch.device) -> dict[str, Float[Tensor, "L D"]]:
    """Return, by name of the stack, the vectors that its first positions add to embeddings."""
    tables = {}
    for name, stack in model.named_modules():
        if isinstance(stack, Stack):
            length = min(SHOWN, stack.position.longest or SHOWN)
            nothing = torch.zeros(1, length, stack.d_model, device=device)
            positions = torch.arange(length, device=device)[None]
            tables[name] = stack.position.embed(nothing, positions)[0].float().cpu()
    return tables


def draw_positions(tables: dict[str, Float[Tensor, "L D"]]) -> Image.Image:
    """Return a picture of the position vectors, with a panel for each stack."""
    length, d_model = next(iter(tables.values())).shape
    top = max(float(table.abs().max()) for table in tables.values())
    return heatmaps(
        "positions",
        {side: table.numpy() for side, table in tables.items()},
        x=_numbers("channel of d_model", d_model),
        y=_numbers("position (tokens from the start)", length),
        scale=Scale("added to the embedding", -top, top, "cividis"),
    )


def _axis(tokenizers: Tokenizers, example: Batch, read: slice) -> Axis:
    """Return an axis whose labels are the tokens that a stack reads.

    `read` selects the texts of the example (source and target) that the stack reads.
    """
    ids_of = texts(example.inputs)
    sides = [*[("source", tokenizers.src)] * (len(ids_of) - 1), ("reference", tokenizers.tgt)]
    fields = list(zip(ids_of, sides, strict=True))[read]
    pieces = [p for ids, (_, side) in fields for p in side.token_labels(ids[0].tolist())]
    shown = [p if len(p) <= LONGEST_LABEL else f"{p[: LONGEST_LABEL - 1]}…" for p in pieces]
    name = f"{' and '.join(name for _, (name, _) in fields)} token"
    return Axis(name, dict(enumerate(shown)), TOKEN_CELL, 90)


def _numbers(name: str, count: int) -> Axis:
    step = -(-count // 8)
    return Axis(name, {i: str(i) for i in range(0, count, step)}, max(1, PANEL // count))


def heatmaps(
    title: str,
    panels: Mapping[str, Float[np.ndarray, "rows columns"]],
    x: Axis,
    y: Axis,
    scale: Scale,
) -> Image.Image:
    """Return an image of panels side by side, with one y axis and one colour bar.

    Args:
        title: title above all panels.
        panels: title and values of each panel; all have the same shape, rows along y, columns along
            x.
        x: the axis below each panel.
        y: the axis left of the first panel; row 0 is at the top.
        scale: colour scale.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = next(iter(panels.values())).shape
    width, height = len(panels) * columns * x.cell + MARGIN, rows * y.cell + MARGIN
    with (
        style.context(["default", STYLE]),
        warnings.catch_warnings(action="ignore"),  # the font has no letters of some scripts
    ):
        figure = Figure((width / DPI, height / DPI), DPI, layout="constrained")
        canvas: Any = FigureCanvasAgg(figure)  # matplotlib has no types for its methods
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (name, values) in zip(axes, panels.items(), strict=True):
            colours = {"cmap": scale.colours, "vmin": scale.low, "vmax": scale.high}
            image = axis.imshow(values, **colours, aspect="auto", interpolation="nearest")
            axis.set_title(name)
            axis.set_xticks([*x.labels], x.labels.values(), rotation=x.angle)
            axis.set_yticks([*y.labels], y.labels.values())
        figure.suptitle(title)
        figure.supxlabel(x.name)
        figure.supylabel(y.name)
        figure.colorbar(image, ax=axes, aspect=15, label=scale.name)
        canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
