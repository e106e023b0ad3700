"""Measure JoeyNMT's training loop on the baseline's data, with its model sizes and options.

A batch of JoeyNMT has up to --tokens tokens of the longer side, including padding. Sentences are
not sorted by length. The speed is in target tokens per second, including EOS, between JoeyNMT's log
lines after the warm-up. Prints one JSON line.
"""

import argparse
import json
import resource
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import joeynmt.training
import torch

TINY = dict(d=128, ff=256, heads=4, layers=4, drop=0.3)
LOG_EVERY = 5  # steps between two log lines


class WindowEnd(Exception):  # noqa: N818
    """Raised when the measured time is over, to end the training."""


def options():
    """Return the options of baseline.py that apply to JoeyNMT, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["train"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warmup", type=float, default=15)
    parser.add_argument("--tokens", type=int, default=4096)
    return parser.parse_args()


def write_text(data, folder):
    """Write the token ids as words, so that JoeyNMT keeps each token, and write the vocabulary.

    Args:
        data: folder of the baseline's data.
        folder: folder of the written files.
    """
    for split in ("train", "val"):
        for side in ("src", "tgt"):
            lines = (data / f"{split}.{side}.ids").read_text(encoding="utf-8").splitlines()
            words = (" ".join(f"t{i}" for i in line.split()) for line in lines)
            (folder / f"{split}.{side}").write_text(
                "".join(f"{line}\n" for line in words), encoding="utf-8"
            )
    entries = len(json.loads((data / "vocab.json").read_text(encoding="utf-8")))
    (folder / "vocabulary").write_text(
        "".join(f"t{i}\n" for i in range(4, entries)), encoding="utf-8"
    )


def stack():
    """Return the config of a stack, which is the same for the encoder and the decoder."""
    return dict(
        type="transformer",
        num_layers=TINY["layers"],
        num_heads=TINY["heads"],
        embeddings=dict(embedding_dim=TINY["d"], scale=True, dropout=TINY["drop"]),
        hidden_size=TINY["d"],
        ff_size=TINY["ff"],
        dropout=TINY["drop"],
        layer_norm="post",
        activation="relu",
    )


def configuration(folder, tokens):
    """Return JoeyNMT's config.

    Args:
        folder: folder of the data, in which JoeyNMT also stores the model.
        tokens: tokens per batch.
    """
    side = dict(level="word", lowercase=False, max_length=256, voc_file=str(folder / "vocabulary"))
    return dict(
        name="bench",
        model_dir=str(folder / "model"),
        use_cuda=False,
        random_seed=1,
        data=dict(
            train=str(folder / "train"),
            dev=str(folder / "val"),
            dataset_type="plain",
            src=dict(lang="src", **side),
            trg=dict(lang="tgt", **side),
        ),
        testing=dict(beam_size=1, batch_size=tokens, batch_type="token", eval_metrics=["bleu"]),
        training=dict(
            optimizer="adam",
            adam_betas=[0.9, 0.98],
            learning_rate=0.005,
            learning_rate_min=1e-9,
            learning_rate_warmup=2000,
            scheduling="warmupinversesquareroot",
            label_smoothing=0.1,
            loss="crossentropy",
            normalization="tokens",
            batch_size=tokens,
            batch_type="token",
            epochs=1000,
            validation_freq=10**9,
            logging_freq=LOG_EVERY,
            shuffle=True,
        ),
        model=dict(
            initializer="xavier_uniform",
            bias_initializer="zeros",
            embed_initializer="xavier_uniform",
            tied_embeddings=True,
            tied_softmax=True,
            encoder=stack(),
            decoder=stack(),
        ),
    )


class Timed(joeynmt.training.TrainManager):
    """A training manager that stores the time and the number of target tokens at each log line."""

    warm_up = seconds = 0.0
    marks = []  # (time, target tokens so far)
    begun = None

    def _log_scores(self, *rest):
        super()._log_scores(*rest)
        now = time.perf_counter()
        Timed.begun = Timed.begun or now
        if now - Timed.begun >= self.warm_up:
            self.marks.append((now, self.stats.total_tokens))
        if len(self.marks) > 1 and now - self.marks[0][0] >= self.seconds:
            raise WindowEnd


def main():
    """Train for the warm-up and the measured time, and print one JSON line."""
    given = options()
    torch.set_num_threads(given.threads)
    Timed.warm_up, Timed.seconds = given.warmup, given.seconds
    joeynmt.training.TrainManager = Timed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model").mkdir()
        write_text(given.data, folder)
        with suppress(WindowEnd):
            joeynmt.training.train(0, None, configuration(folder, given.tokens), skip_test=True)
    (begin, before), (end, after) = Timed.marks[0], Timed.marks[-1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate = (after - before) / (end - begin)
    print(json.dumps(dict(system="JoeyNMT", tgt_tok_s_mean=rate, peak_rss_mib=peak)))


if __name__ == "__main__":
    main()
