"""Measure the speed of `ablate` with its own trainer, and print it as one JSON line.

    python -m lab.bench.ours train|greedy|beam SECONDS WEIGHTS|- OVERRIDES... [--warm-up S]

train: target tokens per second in a window after a warm-up; EOS counts, and padding does not.
greedy, beam: sentences per second on the test split, in batches of 100; median of several passes.
"""

import argparse
import json
import resource
import statistics
import time
from typing import Any

import hydra
import pytorch_lightning as pl
import sacrebleu
import torch
from omegaconf import DictConfig, open_dict
from torch.nn.utils.rnn import pad_sequence

from ablate.config import CONF
from ablate.config.settle import settle_precision
from ablate.data import EOS, PAD
from ablate.data.batching import Batch
from ablate.data.module import TextData
from ablate.model import Model
from ablate.process import keep_memory
from ablate.train.job import Job, make_model, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import hush_lightning, resolve

DECODING_BATCH = 100


class Stopwatch(pl.Callback):
    """Counts target tokens in a window of `seconds` after `warm_up` seconds, then ends training.

    The window has at least one step.
    """

    def __init__(self, warm_up: float, seconds: float) -> None:
        self.warm_up = warm_up
        self.seconds = seconds
        self.start = self.last = time.perf_counter()
        self.rates: list[float] = []
        self.tokens = 0
        self.window = 0.0

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the warm-up."""
        self.start = self.last = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Batch, i: int
    ) -> None:
        """Count a step; its time includes everything since the end of the step before."""
        now = time.perf_counter()
        if now - self.start > self.warm_up:
            tokens = int((batch.targets != PAD).sum())
            self.tokens += tokens
            self.window += now - self.last
            self.rates.append(tokens / (now - self.last))
        self.last = now
        trainer.should_stop = self.window > 0 and now - self.start > self.warm_up + self.seconds

    def figures(self) -> dict[str, float]:
        """Return the speed in the window.

        Returns:
            rate: target tokens per second over the whole window.
            median: target tokens per second, median over the steps.
            steps: number of steps in the window.
        """
        return {
            "rate": self.tokens / self.window,
            "median": statistics.median(self.rates),
            "steps": len(self.rates),
        }


def compose(overrides: list[str]) -> DictConfig:
    """Return the config of a run with these overrides, without a logger unless they name one."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", overrides, return_hydra_config=True)
    with open_dict(config):
        del config["hydra"]
        settle_precision(config)
        if not any(override.startswith("logger=") for override in overrides):
            config.logger = None
    return config


def fit(job: Job, model: Model, data: TextData, watch: pl.Callback) -> None:
    """Train until the callback `watch` or the budget ends it, without validation or record."""
    trainer = job.trainer(
        logger=False,
        callbacks=[watch],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
        use_distributed_sampler=False,
    )
    trainer.fit(Training(job, model, data), datamodule=data)


def train(config: DictConfig, watch: Stopwatch) -> dict[str, float]:
    """Train on the corpus of the config, and return the figures of `watch`."""
    job = resolve(config)
    data = prepare_data(job)
    model = make_model(job, data)
    fit(job, model, data, watch)
    return watch.figures()


def decode(config: DictConfig, seconds: float, weights: str, *, greedy: bool) -> dict[str, float]:
    """Translate the test split several times, and return the speed and BLEU.

    Args:
        config: config of the run.
        seconds: passes are repeated for at least this time; there are at least two.
        weights: file of the weights; "-" for initial weights.
        greedy: whether the search of validations is used instead of the search of tests.

    Returns:
        rate: sentences per second, median over all passes but the first.
        passes: number of passes, without the first.
        bleu: BLEU of the last pass.
    """
    job = resolve(config)
    data = prepare_data(job)
    task = Training(job, make_model(job, data), data)
    if weights != "-":
        task.model.load_state_dict(torch.load(weights, weights_only=True))
    task.model.eval()
    search = task.job.validation_search if greedy else task.job.search
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
        translations = [ids for src in batches for ids in search(task.model, src)]
        times.append(time.perf_counter() - begin)
    hypotheses = data.tokenizers.tgt.decode_batch(translations)
    references = data.references("test")
    bleu = sacrebleu.corpus_bleu(hypotheses, [[references[i] for i in order]]).score
    rate = len(sources) / statistics.median(times[1:])
    return {"rate": rate, "passes": len(times) - 1, "bleu": round(bleu, 2)}


def peak_mib() -> float:
    """Return the peak resident memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure the mode that the command line names, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("train", "greedy", "beam"))
    parser.add_argument("seconds", type=float)
    parser.add_argument("weights")
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--warm-up", type=float, default=10.0)
    given = parser.parse_intermixed_args()
    hush_lightning()
    config = compose(given.overrides)
    torch.set_num_threads(config.threads)
    keep_memory()
    if given.mode == "train":
        figures = train(config, Stopwatch(given.warm_up, given.seconds))
    else:
        greedy = given.mode == "greedy"
        figures = decode(config, given.seconds, given.weights, greedy=greedy)
    print(json.dumps({"mode": given.mode, **figures, "peak_mib": peak_mib()}))


if __name__ == "__main__":
    main()
