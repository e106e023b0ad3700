"""Pictures of a trained model: the attention of one sentence, and the positions.

The colour maps are ordered by lightness (cividis, viridis), so that they survive a grey print and
every kind of colour vision. Drawn without pyplot: no global state, no display is looked for.
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from PIL import Image
from torch import Tensor

from ablate.data.batch import Batch
from ablate.data.vocabulary import PAD
from ablate.model.inspect import attention_weights
from ablate.model.position.base import Position
from ablate.model.transformer import Transformer
from ablate.task import Translation
from ablate.tracking.samples import first_lines

DPI = 100
HEADS = 4  # shown of each attention
TOKENS = 12  # the sentence that is shown is about so long ...
LINES = 100  # ... and the best of so many lines of validation
LONGEST_LABEL = 9

Weights = Float[Tensor, "H Q K"]


def pictures(task: Translation) -> Iterator[tuple[str, Image.Image]]:
    """Yield names and pictures: attention in the last layers, and positions if there are any."""
    lines = first_lines(task.data, LINES)
    yield from attention(task, shown_line(lines))
    tables = position_tables(task.model, lines.src.size(1))
    if any(table.any() for table in tables.values()):
        yield "position", draw_positions(tables)


def shown_line(lines: Batch) -> Batch:
    """The pair whose target is nearest to TOKENS tokens, without padding."""
    line = int(((lines.tgt_out != PAD).sum(1) - TOKENS).abs().argmin())
    ids = (lines.src[line], lines.tgt_in[line], lines.tgt_out[line])
    return Batch(*(row[row != PAD][None] for row in ids), lines.index[line, None])


def attention(task: Translation, pair: Batch) -> Iterator[tuple[str, Image.Image]]:
    """Yield the three attentions of the last layers, the decoder reading the reference."""
    pair = pair.to(task.device)
    weights = attention_weights(task.model, pair.src, pair.tgt_in)
    source = task.data.tokenizers.src.pieces(pair.src[0].tolist())
    target = task.data.tokenizers.tgt.pieces(pair.tgt_in[0].tolist())
    last = {side: len(getattr(task.model, side).layers) - 1 for side in ("encoder", "decoder")}
    panels = (
        ("encoder", "self", ("source token", source), ("source token", source)),
        ("decoder", "self", ("reference token", target), ("reference token", target)),
        ("decoder", "cross", ("reference token", target), ("source token", source)),
    )
    for side, kind, queries, keys in panels:
        layer = last[side]
        title = f"{side}, layer {layer + 1}, {kind}-attention"
        heads = weights[f"{side}.{layer}.{kind}"][0, :HEADS].float().cpu()
        yield f"attention/{side}_{kind}", draw_attention(title, heads, queries, keys)


def draw_attention(
    title: str,
    weights: Weights,
    queries: tuple[str, Sequence[str]],
    keys: tuple[str, Sequence[str]],
) -> Image.Image:
    """Draw a panel per head; queries and keys have the name of their axis and their tokens."""
    figure = Figure(figsize=(2.3 * len(weights) + 1.3, 3.4), dpi=DPI)
    figure.suptitle(title, fontsize=9)
    panels = figure.subplots(1, len(weights), squeeze=False, sharey=True)[0]
    top = float(weights.max())
    for head, (panel, values) in enumerate(zip(panels, weights, strict=True), start=1):
        shown = panel.imshow(values, vmin=0.0, vmax=top, cmap="viridis", aspect="auto")
        panel.set_title(f"head {head}", fontsize=8)
        panel.set_xlabel(f"read: {keys[0]}", fontsize=8)
        _label(panel.xaxis, keys[1], rotation=90.0)
    panels[0].set_ylabel(f"reading: {queries[0]}", fontsize=8)
    _label(panels[0].yaxis, queries[1], rotation=0.0)
    figure.subplots_adjust(left=0.12, right=0.88, top=0.84, bottom=0.32, wspace=0.1)
    _colour_bar(figure, shown, "attention weight (a row sums to 1)")
    return _pixels(figure)


@torch.no_grad()
def position_tables(model: Transformer, length: int) -> dict[str, Float[Tensor, "L D"]]:
    """What encoder and decoder add to the embeddings at the first `length` positions."""
    stacks: dict[str, Position] = {
        "encoder": model.encoder.position,
        "decoder": model.decoder.position,
    }
    nothing = torch.zeros(1, length, model.d_model, device=next(model.parameters()).device)
    return {side: place(nothing, offset=0)[0].float().cpu() for side, place in stacks.items()}


def draw_positions(tables: dict[str, Float[Tensor, "L D"]]) -> Image.Image:
    """Draw what is added to the embeddings, one panel per stack."""
    figure = Figure(figsize=(8.0, 3.0), dpi=DPI)
    panels = figure.subplots(1, len(tables), squeeze=False, sharey=True)[0]
    top = max(float(table.abs().max()) for table in tables.values())
    for panel, (side, table) in zip(panels, tables.items(), strict=True):
        shown = panel.imshow(
            table, vmin=-top, vmax=top, cmap="cividis", aspect="auto", interpolation="nearest"
        )
        panel.set_title(f"positions of the {side}", fontsize=9)
        panel.set_xlabel("channel of d_model", fontsize=8)
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("position (tokens from the start)", fontsize=8)
    figure.subplots_adjust(left=0.08, right=0.87, top=0.9, bottom=0.16, wspace=0.08)
    _colour_bar(figure, shown, "added to the embedding")
    return _pixels(figure)


def _label(axis: Axis, tokens: Sequence[str], rotation: float) -> None:
    shown = [t if len(t) <= LONGEST_LABEL else f"{t[: LONGEST_LABEL - 1]}…" for t in tokens]
    # A token with a dollar sign is no formula.
    axis.set_ticks(range(len(shown)), shown, rotation=rotation, fontsize=7, parse_math=False)


def _colour_bar(figure: Figure, shown: AxesImage, label: str) -> None:
    box = figure.axes[-1].get_position()
    bar = figure.add_axes((0.9, box.y0, 0.015, box.height))
    figure.colorbar(shown, cax=bar).set_label(label, fontsize=8)
    bar.tick_params(labelsize=7)


def _pixels(figure: Figure) -> Image.Image:
    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        # A script without a glyph in the font is drawn as boxes; that is no reason to speak up.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
