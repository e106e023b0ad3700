"""Write token ids and weights of `ablate` to files that lab/bench/baseline.py reads."""

import json
from pathlib import Path

import torch

from ablate.data.module import TextData
from lab.bench.weights import convert

SPLITS = {"train": "train", "validation": "val", "test": "test"}


def export_text(data: TextData, folder: Path) -> None:
    """Write the vocabulary, the token ids of every split, and the references of the test split."""
    pieces = data.tokenizers.tgt.pieces(list(range(data.tokenizers.tgt.size)))
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    for split, name in SPLITS.items():
        for side, lines in (("src", data.sources(split)), ("tgt", data.references(split))):
            tokenizer = getattr(data.tokenizers, side)
            ids = tokenizer.encode_batch(lines)
            text = "".join(" ".join(map(str, line)) + "\n" for line in ids)
            (folder / f"{name}.{side}.ids").write_text(text, encoding="utf-8")
    (folder / "test.txt").write_text(
        "".join(f"{line}\n" for line in data.references("test")), encoding="utf-8"
    )


def export_weights(weights: Path, folder: Path) -> Path:
    """Write the weights of a run with the baseline's parameter names; return the written file.

    Args:
        weights: the file weights.pt of a run of `ablate`.
        folder: folder of the written file.
    """
    converted = folder / "weights.pt"
    torch.save(convert(torch.load(weights, weights_only=True)), converted)
    return converted
