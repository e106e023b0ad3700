"""Token ids and weights of ours, in files that the other side reads."""

import json
from pathlib import Path

import torch

from ablate.data.module import TextData
from lab.bench.weights import convert

SPLITS = {"train": "train", "validation": "val", "test": "test"}


def export_text(data: TextData, folder: Path) -> None:
    """Write the vocabulary, the ids of every split, and the references of test."""
    pieces = data.tokenizers.tgt.pieces(list(range(data.tgt_vocab)))
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
    """Write the weights of one of our runs under the baseline's names, and return where."""
    converted = folder / "weights.pt"
    torch.save(convert(torch.load(weights, weights_only=True)), converted)
    return converted
