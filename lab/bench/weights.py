"""Convert the weights of a run of `ablate` for the model of the hand-written baseline.

python -m lab.bench.weights RUN/weights.pt OUT.pt

Both models then compute the same numbers. The run must use Post-LN and the same embedding for
source, target and output.
"""

import re
import sys

import torch
from torch import Tensor

NAMES = {
    "embedding.tgt.weight": "embed.weight",
    r"(en|de)coder\.layers\.(\d+)\.": r"body.\1coder.layers.\2.",
    r"self_attention\.output": "self_attn.out_proj",
    r"cross_attention\.output": "multihead_attn.out_proj",
    r"feed_forward\.inner": "linear1",
    r"feed_forward\.outer": "linear2",
    r"\.gain$": ".weight",
}
STACKED = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
PROJECTIONS = ("query", "key", "value")
SUBLAYERS = {"en": 2, "de": 3}  # sub-layers per layer of the encoder and the decoder


def convert(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the baseline's state dict for the state dict of a model of `ablate`."""
    theirs = {}
    for name, value in ours.items():
        projection = re.fullmatch(r"(.*)\.(self|cross)_attention\.query\.(weight|bias)", name)
        if projection:
            layer, kind, leaf = projection.groups()
            prefix = f"{layer}.{kind}_attention"
            stacked = [ours[f"{prefix}.{part}.{leaf}"] for part in PROJECTIONS]
            attention = STACKED[f"{kind}_attention"]
            theirs[f"body.{layer}.{attention}.in_proj_{leaf}"] = torch.cat(stacked)
        elif not re.search(r"_attention\.(key|value)\.", name):
            theirs[renamed(name)] = value
    return theirs


def renamed(name: str) -> str:
    """Return the baseline's name for a parameter that is not a projection to Q, K or V."""
    norm = re.fullmatch(r"(en|de)coder\.residual\.norms\.(\d+)(\..*)", name)
    if norm:  # `ablate` numbers the norms of a whole stack, the baseline those of each layer
        stack, number, leaf = norm.groups()
        layer, sublayer = divmod(int(number), SUBLAYERS[stack])
        name = f"{stack}coder.layers.{layer}.norm{sublayer + 1}{leaf}"
    for pattern, replacement in NAMES.items():
        name = re.sub(pattern, replacement, name)
    return name


if __name__ == "__main__":
    weights = torch.load(sys.argv[1], weights_only=True)
    torch.save(convert(weights), sys.argv[2])
