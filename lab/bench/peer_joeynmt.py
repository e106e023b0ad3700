"""JoeyNMT's own training loop on the baseline's data, model sizes and options: training only.

Its batches hold --tokens tokens, padding counted, of the longer side, and it sorts nothing by
length. Target tokens (EOS counted) per second between its log lines, after the warm-up.
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
LOG_EVERY = 5  # updates


class WindowEnd(Exception):  # noqa: N818
    """The window is over."""


def options():
    """Return the options of baseline.py that have a meaning here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["train"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warmup", type=float, default=15)
    parser.add_argument("--tokens", type=int, default=4096)
    return parser.parse_args()


def write_text(data, folder):
    """Write the ids as words, so that nothing is cut or joined, and the vocabulary of them."""
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
    """Return the config of the encoder, and of the decoder."""
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
    """Return a whole config."""
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
    """Reads the clock at every log line."""

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
    """Train for the window, and print one JSON line."""
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
