"""Measure one point of `lab.bench.growth` in this process, and print it as one JSON line.

python -m lab.bench.growth_point AXIS VALUE build|train FOLDER SECONDS WARM_UP OVERRIDES...
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from omegaconf import DictConfig

from ablate.data import BOS, EOS
from ablate.data.batching import Batch
from ablate.initial import initialise
from ablate.model.base import Seq2Seq
from ablate.process import keep_memory
from ablate.train.job import Job, build_model, prepare_data
from ablate.train.resolve import resolve
from ablate.train.trainer import hush_lightning
from lab.bench.ours import Stopwatch, compose, fit, peak_mib

TOKENS = 4096  # tokens per batch: one sentence of length 4096, or 64 sentences of length 64
LENGTH, VOCABULARY = 32, 8000  # sizes that are used unless they are the measured axis
BASE = ("model=tiny", "model.n_layers=2", f"batch.tokens={TOKENS}", "budget.steps=1000000")
OVERRIDES = {
    "length": (),
    "vocabulary": (),
    "d_model": ("model.d_model={value}", "model.d_ff={twice}"),
    "layers": ("model.n_layers={value}",),
    "corpus": (
        "data=parallel",
        "data.source=src",
        "data.target=tgt",
        "data.train={folder}/text.tsv",
        "data.validation_size=100",
        "data.test_size=100",
        "tokenizer=word",
        "paths.cache={folder}/cache",
    ),
}
WORDS_OF_A_SENTENCE = (8, 16)
WORDS = 2000  # number of words of the generated language


class Generated(pl.LightningDataModule):
    """Training data of random token ids without padding: four batches, repeated without end."""

    languages = ("src", "tgt")
    joint_vocab = True

    def __init__(self, length: int, vocabulary: int) -> None:
        super().__init__()
        self.length = length
        self.src_vocab = self.tgt_vocab = vocabulary

    def train_dataloader(self) -> Iterable[Batch]:
        """Return an endless iterable of the four batches."""
        return _Endless([self._batch(seed) for seed in range(4)])

    def val_dataloader(self) -> list[Batch]:
        """Return [], because Lightning requires this method."""
        return []

    def _batch(self, seed: int) -> Batch:
        shape = (TOKENS // self.length, self.length)
        random = torch.Generator().manual_seed(seed)
        src, tgt = torch.randint(EOS + 2, self.src_vocab, (2, *shape), generator=random)
        src[:, -1] = tgt[:, -1] = EOS
        tgt_in = torch.roll(tgt, 1, dims=1)
        tgt_in[:, 0] = BOS
        return Batch(Seq2Seq(src, tgt_in), tgt, torch.arange(len(src)))


class _Endless:
    def __init__(self, batches: list[Batch]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Batch]:
        while True:
            yield from self.batches


def write_text(path: Path, pairs: int) -> None:
    """Write a corpus of random words as a .tsv file, one sentence pair per line."""
    random = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(WORDS)])
    with path.open("w", encoding="utf-8") as file:
        for _ in range(pairs):
            lengths = random.integers(*WORDS_OF_A_SENTENCE, 2)
            sides = (" ".join(words[random.integers(WORDS, size=n)]) for n in lengths)
            file.write("\t".join(sides) + "\n")


def build(config: DictConfig, folder: Path, pairs: int) -> dict[str, float]:
    """Generate a corpus and build its cache; return pairs per second and peak memory in MiB."""
    write_text(folder / "text.tsv", pairs)
    start = time.perf_counter()
    prepare_data(resolve(config))
    seconds = time.perf_counter() - start
    return {"built_pairs_per_second": pairs / seconds, "build_peak_mib": peak_mib()}


def train(job: Job, data: Any, watch: Stopwatch) -> dict[str, float]:
    """Train until `watch` ends the training, and return speed and memory.

    Returns:
        rate, median, steps: see `Stopwatch.figures`.
        peak_mib: peak resident memory of the process.
        before_mib: peak resident memory before the model was built.
    """
    before = peak_mib()
    model = build_model(job, data)
    initialise(model, job.config.seed)
    fit(job, model, data, watch)
    return {**watch.figures(), "peak_mib": peak_mib(), "before_mib": before}


def main() -> None:
    """Measure the point that the command line describes, and print it."""
    axis, number, phase, folder, seconds, warm_up, *rest = sys.argv[1:]
    value = int(number)
    names = {"value": value, "twice": 2 * value, "folder": folder}
    hush_lightning()
    config = compose([*BASE, *(o.format(**names) for o in OVERRIDES[axis]), *rest])
    torch.set_num_threads(config.threads)
    keep_memory()
    if phase == "build":
        figures = build(config, Path(folder), value)
    else:
        sizes = {"length": LENGTH, "vocabulary": VOCABULARY} | {axis: value}
        generated = Generated(sizes["length"], sizes["vocabulary"])
        job = resolve(config)
        data = prepare_data(job) if axis == "corpus" else generated
        figures = train(job, data, Stopwatch(float(warm_up), float(seconds)))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
