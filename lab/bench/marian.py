"""Convert the baseline's weights for HF's MarianMTModel, which computes the same function."""

import re

from torch import Tensor

PROJECTIONS = ("q_proj", "k_proj", "v_proj")
NAMES = {
    r"^body\.": "model.",
    r"multihead_attn": "encoder_attn",
    r"linear1": "fc1",
    r"linear2": "fc2",
    r"norm1": "self_attn_layer_norm",
    r"(encoder\..*)norm2": r"\1final_layer_norm",
    r"(decoder\..*)norm2": r"\1encoder_attn_layer_norm",
    r"norm3": "final_layer_norm",
}
EMBEDDINGS = ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head")


def to_marian(weights: dict[str, Tensor], positions: Tensor) -> dict[str, Tensor]:
    """Return the state dict of an equal MarianMTModel.

    Args:
        weights: state dict of a model of `lab.bench.baseline`.
        positions: the sinusoids of that model, of shape (length, d_model); Marian has them as
            parameters.
    """
    converted = {f"{place}.weight": weights["embed.weight"] for place in EMBEDDINGS}
    for stack in ("encoder", "decoder"):
        converted[f"model.{stack}.embed_positions.weight"] = positions
    for name, value in weights.items():
        if name != "embed.weight":
            converted |= _renamed(name, value)
    return converted


def _renamed(name: str, value: Tensor) -> dict[str, Tensor]:
    """Return a parameter by its new name; stacked projections are split into three parameters."""
    for pattern, replacement in NAMES.items():
        name = re.sub(pattern, replacement, name)
    stacked = re.fullmatch(r"(.*)\.in_proj_(weight|bias)", name)
    if not stacked:
        return {name: value}
    block, leaf = stacked.groups()
    parts = zip(PROJECTIONS, value.chunk(3), strict=True)
    return {f"{block}.{projection}.{leaf}": part for projection, part in parts}
