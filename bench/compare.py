"""Ours beside the hand-written loop, in turn, on this machine.

    python -m bench.compare [data.root=FOLDER] [rounds=5] [seconds=30] [threads=2] [run=RUN]

Both sides get the same sentences, vocabulary, token budget, dropout sites, label smoothing and
number of threads, and count non-padding target tokens. A ratio is the median over the rounds of
ours / other, each round measuring the two one after the other. Decoding needs `run`, the folder
of a finished run of `model=tiny` on this data, whose weights both sides get; without it only
training is compared. Writes bench/results.json.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from ablate.data.module import TranslationData
from ablate.run import prepare_data
from bench.ours import compose
from bench.weights import convert

RESULTS = Path(__file__).parent / "results.json"
TINY = ("model=tiny", "data=multi30k", "batch.tokens=4096", "model/residual=post_ln")
BUDGET = ("budget.steps=1000000", "budget.warmup=2000")
# what is compared: mode, our overrides, the baseline's arguments, unit
COMPARISONS: dict[str, tuple[str, list[str], list[str], str]] = {
    "train_tiny_fp32": ("train", [], [], "target tokens/s"),
    "train_tiny_bf16": ("train", ["trainer.precision=bf16-mixed"], [], "target tokens/s"),
    "greedy": ("greedy", [], ["--cached", "--bleu"], "sentences/s"),
    "beam5": ("beam", [], ["--cached", "--bleu"], "sentences/s"),
}


def export(data: TranslationData, folder: Path) -> None:
    """Write the ids of our own vocabulary for the baseline."""
    pieces = data.tokenizers.tgt.pieces(list(range(data.tgt_vocab)))
    (folder / "vocab.json").write_text(json.dumps(pieces))
    for split, name in (("train", "train"), ("validation", "val"), ("test", "test")):
        for side, lines in (("src", data.sources(split)), ("tgt", data.references(split))):
            tokenizer = getattr(data.tokenizers, side)
            ids = tokenizer.encode_batch(lines)
            text = "".join(" ".join(map(str, line)) + "\n" for line in ids)
            (folder / f"{name}.{side}.ids").write_text(text)
    (folder / "test.txt").write_text("".join(f"{line}\n" for line in data.references("test")))


def run(command: list[str], threads: int) -> dict[str, Any]:
    """Run a command and return the JSON of its last line."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, *command], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(
    name: str, options: dict[str, Any], overrides: list[str], folder: Path
) -> dict[str, Any]:
    """Measure one comparison, both sides in turn."""
    mode, mine, theirs, unit = COMPARISONS[name]
    threads, seconds = options["threads"], options["seconds"]
    weights = "-" if mode == "train" else str(Path(options["run"]) / "weights.pt")
    if mode != "train":
        theirs = [*theirs, "--load", str(folder / "weights.pt")]
    ours, other = [], []
    for number in range(options["rounds"]):
        found = run(["-m", "bench.ours", mode, str(seconds), weights, *overrides, *mine], threads)
        ours.append(found["rate"])
        base = ["bench/baseline.py", mode, "--data", str(folder), "--threads", str(threads)]
        length = ["--seconds", str(seconds), "--warmup", "10", *theirs]
        found = run([*base, *length], threads)
        other.append(found["tgt_tok_s_mean"] if mode == "train" else found["sent_s"])
        print(f"{name} round {number + 1}: {ours[-1]:,.0f} against {other[-1]:,.0f} {unit}")
    ratios = [a / b for a, b in zip(ours, other, strict=True)]
    return {
        "what": name,
        "ours": statistics.median(ours),
        "other": statistics.median(other),
        "unit": unit,
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "machine": f"{platform.machine()}, {threads} threads",
    }


def main() -> None:
    """Run every comparison and write the results."""
    given: Any = OmegaConf.to_container(OmegaConf.from_dotlist(sys.argv[1:]))
    defaults = {"rounds": 5, "seconds": 30, "threads": 2, "what": list(COMPARISONS), "run": None}
    options: dict[str, Any] = {key: given.get(key, value) for key, value in defaults.items()}
    names = [name for name in COMPARISONS if name in options["what"]]
    if not options["run"]:
        names = [name for name in names if name.startswith("train")]
    rest = [argument for argument in sys.argv[1:] if argument.split("=")[0] not in defaults]
    overrides = [*TINY, *BUDGET, f"threads={options['threads']}", *rest]
    data = prepare_data(compose(overrides))
    with tempfile.TemporaryDirectory() as folder:
        export(data, Path(folder))
        if options["run"]:
            ours = torch.load(Path(options["run"]) / "weights.pt", weights_only=True)
            torch.save(convert(ours), Path(folder) / "weights.pt")
        results = [measure(name, options, overrides, Path(folder)) for name in names]
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    for row in results:
        spread = f"{row['ratio_min']:.2f} to {row['ratio_max']:.2f}"
        print(f"{row['what']}: {row['ratio']:.2f} x ({spread}), {row['ours']:,.0f} {row['unit']}")


if __name__ == "__main__":
    main()
