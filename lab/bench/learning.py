"""What every level learns: a run of each at scale=cpu, on the corpus that suits it, as a table.

    python -m lab.bench.learning WORK [--only TEXT]

Chance is what is reached without reading the source, bound what is possible: 0 and 100 for BLEU on
the built-in corpus, what a synthetic corpus states, the unigram model for the nll of a language
model. Adaptations go on from the run of `model/embedding=separate`, whose row stands above theirs.
Sweeps that are done are not run again as long as WORK is kept.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ablate.config.location import CONF
from lab.bench.same_numbers import read_cells

GROUPS = (
    *("model/position", "model/residual", "model/norm", "model/attention", "model/padding"),
    *("model/block", "model/values", "model/head", "model/parametrisation"),
    *(
        "model/feed_forward",
        "model/embedding",
        "model/projections",
        "loss",
        "optimizer",
        "schedule",
    ),
    *("search", "initial"),
)
LEFT_OUT = {
    "model/attention": ("linformer", "linformer_narrow"),  # in the encoder alone, below
    "initial": ("checkpoint", "vectors"),  # need a file
}
ADAPT = ",".join(sorted(p.stem for p in CONF.glob("adapt/*.yaml")))
# an answer of one word, which needs parts of several layers at once: found late
LATE = ("hops", "induction", "recall", "xor")
SYNTHETIC = {
    p.stem for p in CONF.glob("data/*.yaml") if "synthetic" in p.read_text(encoding="utf-8")
}
AT_ONCE = ",".join(sorted(SYNTHETIC.difference(LATE)))
LONG = (
    "loss=cross_entropy model.dropout.rate=0.0 data.n_train=100000 budget.steps=6000 "
    "budget.validate_every=600 budget.test_sentences=500 search=greedy seed=0"
)


class Sweep(NamedTuple):
    """Levels that are read in one metric."""

    metric: str
    overrides: str


# what adaptations begin with: a trained model whose looked up embeddings can be frozen alone
BASE = Sweep("test/bleu", "model/embedding=separate")
OTHERS = (
    Sweep("test/bleu", "model/attention@model.encoder.attention=linformer,linformer_narrow"),
    BASE,
    Sweep(
        "test/bleu", f"adapt={ADAPT} {BASE.overrides} initial=checkpoint initial.folder={{base}}"
    ),
    Sweep("test/bleu", "model=micro,prefix_lm,rnn,rnn_additive,rnn_patient,rnn_plain"),
    Sweep("test/nll", "task=language_model model=decoder_only"),
    Sweep("test/nll", "task=masked_language_model model=encoder_only"),
    Sweep("test/nll", "task=denoising model=micro,rnn"),
    Sweep("test/skill", f"data={AT_ONCE} loss=cross_entropy budget.steps=2400"),
    Sweep("test/skill", f"data=hops,recall,xor model=decoder_only optimizer.lr=0.002 {LONG}"),
    Sweep("test/skill", f"data=induction {LONG}"),
)


def sweeps() -> Iterator[Sweep]:
    """Yield every level of the config tree, but for those that need a file."""
    for group in GROUPS:
        names = {path.stem for path in CONF.glob(f"{group}/*.yaml")}
        fit = sorted(names.difference(LEFT_OUT.get(group, ())))
        yield Sweep("test/bleu", f"{group}={','.join(fit)}")
    yield from OTHERS


def cells(sweep: Sweep, work: Path) -> dict[str, dict[str, Any]]:
    """Run a sweep, unless it is done, and return what each of its cells gave."""
    results = place(sweep.overrides, work)
    done = results / "done"
    if not done.exists():
        words = sweep.overrides
        if "{base}" in words:
            words = words.format(base=base(work))
        command = ["-m", "ablate", "-m", "logger=none", "name=learning", *words.split()]
        places = [f"paths.results={results}", f"paths.cache={work / 'cache'}"]
        ended = subprocess.run([sys.executable, *command, *places], stdout=sys.stderr)
        done.write_text(f"{ended.returncode}\n", encoding="utf-8")
    return read_cells(results)


def place(overrides: str, work: Path) -> Path:
    """Return the folder of a sweep's results."""
    return work / "".join(c if c.isalnum() else "_" for c in overrides)[:80]


def base(work: Path) -> Path:
    """Return the folder of the run that adaptations begin with, trained now unless it is there."""
    cells(BASE, work)
    return next(place(BASE.overrides, work).glob("runs/*"))


def row(sweep: Sweep, level: str, cell: dict[str, Any]) -> str:
    """Return a line of the table."""
    metrics, metric = cell["metrics"], sweep.metric
    chance, bound = {
        "test/bleu": (0, 100),
        "test/skill": (0, 1),
        "test/nll": (metrics.get("unigram_nll"), None),
    }[metric]
    numbers = (
        metrics.get(metric),
        chance,
        bound,
        metrics.get("test/nll"),
        cell["seconds"].get("training"),
    )
    shown = ("-" if number is None else f"{number:.4g}" for number in numbers)
    return f"| {level} | {metric} | {' | '.join(shown)} | {cell['status']} |"


def main() -> None:
    """Print the table, a line as soon as its sweep is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder for the runs")
    parser.add_argument("--only", default="", help="sweeps whose overrides contain this text")
    given = parser.parse_args()
    print("| level | metric | reached | chance | bound | test nll | seconds | status |")
    print("|---|---|---:|---:|---:|---:|---:|---|")
    for sweep in sweeps():
        if given.only not in sweep.overrides:
            continue
        for level, cell in sorted(cells(sweep, given.work).items()):
            shared = level == "the only one"
            print(row(sweep, sweep.overrides if shared else level, cell), flush=True)


if __name__ == "__main__":
    main()
