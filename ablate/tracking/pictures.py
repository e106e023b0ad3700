"""Pictures of a trained model: the attention of one sentence, and the positions.

The colour maps are ordered by lightness (viridis, cividis), so that they survive a grey print and
every kind of colour vision.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from PIL import Image
from torch import Tensor

from ablate.data.batch import Batch
from ablate.data.vocabulary import PAD
from ablate.model.inspect import attention_weights
from ablate.model.position.base import Position
from ablate.model.transformer import Transformer
from ablate.task import Translation
from ablate.tracking.heatmap import Axis, Scale, heatmaps

HEADS = 4  # shown of each attention
TOKENS = 12  # the sentence that is shown is about so long ...
LINES = 100  # ... and the nearest to it among so many lines of validation
LONGEST_LABEL = 10
TOKEN_CELL = 24  # pixels
PANEL = 480  # pixels of a side of the positions, about


def pictures(task: Translation) -> Iterator[tuple[str, Image.Image]]:
    """Yield names and pictures: attention in the last layers, and positions if there are any."""
    lines = task.data.first_lines("validation", LINES)
    yield from draw_attention(task, shown_line(lines))
    tables = position_tables(task.model, lines.src.to(task.device))
    if any(table.any() for table in tables.values()):
        yield "position", draw_positions(tables)


def shown_line(lines: Batch) -> Batch:
    """The pair whose target is nearest to TOKENS tokens, without padding."""
    line = int(((lines.tgt_out != PAD).sum(1) - TOKENS).abs().argmin())
    src, tgt_in, tgt_out = (
        ids[line][ids[line] != PAD][None] for ids in (lines.src, lines.tgt_in, lines.tgt_out)
    )
    return Batch(src, tgt_in, tgt_out, lines.index[line, None])


def draw_attention(task: Translation, pair: Batch) -> Iterator[tuple[str, Image.Image]]:
    """Yield the three attentions of the last layers; the decoder reads the reference."""
    weights = attention_weights(
        task.model, *(ids.to(task.device) for ids in (pair.src, pair.tgt_in))
    )
    tokenizers = task.data.tokenizers
    source = _tokens("source token", tokenizers.src.pieces(pair.src[0].tolist()))
    target = _tokens("reference token", tokenizers.tgt.pieces(pair.tgt_in[0].tolist()))
    for side, kind, queries, keys in (
        ("encoder", "self", source, source),
        ("decoder", "self", target, target),
        ("decoder", "cross", target, source),
    ):
        layer = len(getattr(task.model, side).layers)
        heads = weights[f"{side}.{layer - 1}.{kind}"][0, :HEADS].float().cpu().numpy()
        yield (
            f"attention/{side}_{kind}",
            heatmaps(
                f"{side}, layer {layer}, {kind}-attention: row reads from column",
                {f"head {number}": values for number, values in enumerate(heads, start=1)},
                x=keys,
                y=queries,
                scale=Scale("attention weight", 0.0, float(heads.max()), "viridis"),
            ),
        )


@torch.no_grad()
def position_tables(model: Transformer, src: Int[Tensor, "B S"]) -> dict[str, Float[Tensor, "S D"]]:
    """What encoder and decoder add to the embeddings, as far as the longest source goes."""
    nothing = torch.zeros_like(model.embedding.embed_src(src[:1]))
    stacks: dict[str, Position] = {
        "encoder": model.encoder.position,
        "decoder": model.decoder.position,
    }
    return {side: place(nothing, offset=0)[0].float().cpu() for side, place in stacks.items()}


def draw_positions(tables: dict[str, Float[Tensor, "L D"]]) -> Image.Image:
    """Draw what is added to the embeddings, one panel per stack."""
    length, d_model = next(iter(tables.values())).shape
    top = max(float(table.abs().max()) for table in tables.values())
    return heatmaps(
        "positions",
        {side: table.numpy() for side, table in tables.items()},
        x=_numbers("channel of d_model", d_model),
        y=_numbers("position (tokens from the start)", length),
        scale=Scale("added to the embedding", -top, top, "cividis"),
    )


def _tokens(name: str, tokens: list[str]) -> Axis:
    shown = [t if len(t) <= LONGEST_LABEL else f"{t[: LONGEST_LABEL - 1]}…" for t in tokens]
    return Axis(name, dict(enumerate(shown)), TOKEN_CELL)


def _numbers(name: str, count: int) -> Axis:
    step = -(-count // 8)
    return Axis(name, {i: str(i) for i in range(0, count, step)}, max(1, PANEL // count))
