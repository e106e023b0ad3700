"""Train every option once at scale=cpu on a suitable corpus, and print what it learns as a table.

    python -m lab.bench.learning WORK [--only TEXT]

The column *chance* has the score that a model reaches without reading the source, and *bound* has
the best possible score. They are 0 and 100 for BLEU, and 0 and 1 for the skill on a synthetic
corpus. For nll, chance is the nll of a unigram model, and there is no bound. Adaptations start from
the run of `model/embedding=separate`, whose row precedes theirs. WORK is the folder for the runs.
Finished sweeps in WORK are not run again.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ablate.config.location import option_files
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
    "model/attention": ("linformer", "linformer_narrow"),  # only for the encoder: see OTHERS
    "initial": ("checkpoint", "vectors"),  # both need a file
}
ADAPT = ",".join(option_files("adapt"))
# corpora whose one-word answer needs parts of several layers at the same time: learned late
LATE = ("hops", "induction", "recall", "xor")
SYNTHETIC = {
    name for name, p in option_files("data").items() if "synthetic" in p.read_text(encoding="utf-8")
}
AT_ONCE = ",".join(sorted(SYNTHETIC.difference(LATE)))
LONG = (
    "loss=cross_entropy model.dropout.rate=0.0 data.n_train=100000 budget.steps=6000 "
    "budget.validate_every=600 budget.test_sentences=500 search=greedy seed=0"
)


class Sweep(NamedTuple):
    """A sweep over options: the metric in which they are compared, and the overrides."""

    metric: str
    overrides: str


# The model that adaptations start from. Its input embeddings can be frozen separately.
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
    """Yield a sweep over all options of each group in GROUPS, and then the sweeps in OTHERS.

    Options in LEFT_OUT are not in the first kind of sweep.
    """
    for group in GROUPS:
        fit = [name for name in option_files(group) if name not in LEFT_OUT.get(group, ())]
        yield Sweep("test/bleu", f"{group}={','.join(fit)}")
    yield from OTHERS


def cells(sweep: Sweep, work: Path) -> dict[str, dict[str, Any]]:
    """Run a sweep unless `work` has its results; return the results of each run, by overrides.

    The results are those of `lab.bench.same_numbers.read_cells`.
    """
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
    """Return the folder for the results of a sweep with these overrides."""
    return work / "".join(c if c.isalnum() else "_" for c in overrides)[:80]


def base(work: Path) -> Path:
    """Return the folder of the run that adaptations start from; train it first if necessary."""
    cells(BASE, work)
    return next(place(BASE.overrides, work).glob("runs/*"))


def row(sweep: Sweep, level: str, cell: dict[str, Any]) -> str:
    """Return the line of an option in the table.

    Args:
        sweep: the sweep with this option.
        level: the option, as overrides.
        cell: the results of the run.
    """
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
    """Print the table; the lines of a sweep are printed as soon as the sweep has ended."""
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
