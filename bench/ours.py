"""Throughput of `ablate` itself, through its own trainer: one JSON line.

    python -m bench.ours train|greedy|beam SECONDS WEIGHTS|- OVERRIDES...

train: non-padding target tokens (EOS counted) per second of a window after a warm-up.
greedy, beam: sentences per second over the test split, batches of 100, median of several passes.
"""

import json
import resource
import statistics
import sys
import time
from typing import Any

import hydra
import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, open_dict
from torch.nn.utils.rnn import pad_sequence

from ablate.__main__ import CONF
from ablate.allocator import keep_memory
from ablate.construct import construct
from ablate.data.batch import Batch
from ablate.data.vocabulary import EOS, PAD
from ablate.run import make_model, make_parts, prepare_data
from ablate.task import Translation

WARM_UP_SECONDS = 10.0
DECODING_BATCH = 100


class Stopwatch(pl.Callback):
    """Counts tokens in a window after the warm-up and then ends training."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.start = self.last = time.perf_counter()
        self.rates: list[float] = []
        self.tokens = 0
        self.window = 0.0

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Batch, i: int
    ) -> None:
        """Count a step; everything between two steps is in its time."""
        now = time.perf_counter()
        if now - self.start > WARM_UP_SECONDS:
            tokens = int((batch.tgt_out != PAD).sum())
            self.tokens += tokens
            self.window += now - self.last
            self.rates.append(tokens / (now - self.last))
        self.last = now
        trainer.should_stop = now - self.start > WARM_UP_SECONDS + self.seconds


def compose(overrides: list[str]) -> DictConfig:
    """Return the config of a run without logger."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", ["logger=none", *overrides], return_hydra_config=True)
    with open_dict(config):
        del config["hydra"]
    return config


def train(config: DictConfig, seconds: float) -> dict[str, float]:
    """Return target tokens per second, the mean over the window and the median step."""
    data = prepare_data(config)
    task = Translation(model=make_model(config, data), data=data, **make_parts(config))
    watch = Stopwatch(seconds)
    trainer: pl.Trainer = construct(config.trainer)(
        logger=False,
        callbacks=[watch],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
        use_distributed_sampler=False,
    )
    trainer.fit(task, datamodule=data)
    return {
        "rate": watch.tokens / watch.window,
        "median": statistics.median(watch.rates),
        "steps": len(watch.rates),
    }


def decode(config: DictConfig, seconds: float, weights: str, *, greedy: bool) -> dict[str, float]:
    """Return sentences per second on the test split with the given weights."""
    data = prepare_data(config)
    task = Translation(model=make_model(config, data), data=data, **make_parts(config))
    if weights != "-":
        task.model.load_state_dict(torch.load(weights, weights_only=True))
    task.model.eval()
    search = task.validation_search if greedy else task.search
    sources = data.sources("test")
    encoded = data.tokenizers.src.encode_batch(sources)
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
    rows = [torch.tensor([*encoded[i], EOS]) for i in order]
    batches = [
        pad_sequence(rows[k : k + DECODING_BATCH], batch_first=True, padding_value=PAD)
        for k in range(0, len(rows), DECODING_BATCH)
    ]
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 2 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        for src in batches:
            search(task.model, src)
        times.append(time.perf_counter() - begin)
    return {"rate": len(sources) / statistics.median(times[1:]), "passes": len(times) - 1}


def main() -> None:
    """Measure what the command line asks for."""
    mode, seconds, weights, *overrides = sys.argv[1:]
    config = compose(overrides)
    torch.set_num_threads(config.threads)
    keep_memory()
    if mode == "train":
        found = train(config, float(seconds))
    else:
        found = decode(config, float(seconds), weights, greedy=mode == "greedy")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"mode": mode, **found, "peak_mib": peak}))


if __name__ == "__main__":
    main()
