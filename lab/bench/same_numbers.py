"""Check whether two checkouts compute the same numbers in training, validation and test.

    python -m lab.bench.same_numbers BEFORE AFTER [--work FOLDER] [--only TEXT]

Both checkouts train each option of each group of BEFORE for a few steps by the same command, and
also a few values of single keys. If one option of a group is refused, each option of the group is
trained by a command of its own. The metrics that both checkouts measure and the translations must
be equal to the last bit. Prints a row for each option, and then the metrics that AFTER no longer
measures. Exits with 1 if an option differs. Finished sweeps in FOLDER are not run again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Cell = dict[str, Any] | None  # the result of a run, as `read_cells` returns it
ONLY = "the only one"
REFUSED = "refused by both"

BUDGET = (
    *("scale=smoke", "budget.steps=30", "budget.validate_every=15", "budget.warmup=10"),
    *(
        "budget.test_sentences=60",
        "data.n_train=3000",
        "data.n_validation=60",
        "data.n_test_long=60",
    ),
    *("logger=none", "name=same"),
)
GROUPS = (
    *("model/position", "model/residual", "model/norm", "model/attention", "model/padding"),
    *("model/feed_forward", "model/embedding", "loss", "optimizer", "schedule", "search"),
    *("model/projections", "initial", "adapt", "metric", "measure", "callbacks", "probe"),
)
# overrides of further sweeps, for keys and options that are not in GROUPS
KEYS = (
    "model=micro,tiny,small",
    "tokenizer=bpe_small,unigram tokenizer.vocab_size=200",
    "tokenizer=char,word",
    "trainer.precision=32-true,bf16-mixed",
    "model/attention=explicit model.attention.fill=minus_inf,large_negative,zero_output",
    "model.attention.scale=none,d_head",
    "model/padding=rows,rows_and_columns batch.bucket=false",
    "model/position=none,learned batch.bucket=false batch.test_padding=5",
    "model.d_head=8,24",
    "model.n_heads=1,8 model.n_decoder_layers=1",
    "model/residual=pre_ln model/norm=rms_norm,std_eps",
    "model/embedding=separate model.embedding.scaled=false,true",
    "loss=label_smoothing trainer.precision=bf16-mixed model/embedding=separate,tied_target",
    "checkpoint.tested=best,average checkpoint.every=5",
    "model.dropout.rate=0,0.3 model.dropout.attention=0.25",
    "search.size=1,3",
    "model=rnn,decoder_only,prefix_lm",
    "task=language_model model=decoder_only",
    "task=masked_language_model model=encoder_only",
    "task=denoising",
    "probe=parameter_count,faint_vectors,heads_in_training,initial_scores,word_order",
    "measure=heads,pruning,layers weights=trained,initial",
    "budget.short=15",
    "callbacks=early_stopping,lr_monitor metric=exact_match",
)


def main() -> int:
    """Compare the two checkouts, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="checkout with its own .venv")
    parser.add_argument("after", type=Path, help="the other one")
    parser.add_argument("--work", type=Path, default=None, help="folder for the runs of both")
    parser.add_argument("--only", default="", help="sweeps whose overrides contain this text")
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="same_numbers_"))
    sides = {"before": given.before.resolve(), "after": given.after.resolve()}
    gone: set[str] = set()
    differences = []
    for sweep in (sweep for sweep in _sweeps(sides["before"]) if given.only in sweep):
        for name, before, after in _pairs(sides, sweep, work):
            differences.append(difference := _difference(before, after))
            gone |= _metrics(before) - _metrics(after) if before and after else set()
            nll = (before or {}).get("metrics", {}).get("val/nll")
            print(f"| {name} | {nll} | {difference or 'equal'} |", flush=True)
    refused = differences.count(REFUSED)
    differing = len(differences) - refused - differences.count("")
    print(f"{differing} of {len(differences)} differ, and both checkouts refuse {refused}")
    print(f"metrics that are no longer measured: {', '.join(sorted(gone)) or 'none'}")
    return int(differing > 0)


def _pairs(sides: dict[str, Path], sweep: str, work: Path) -> Iterator[tuple[str, Cell, Cell]]:
    """Run a sweep in both checkouts; yield the overrides of each run and its two results.

    If a checkout runs nothing of a sweep over one key, each value gets a sweep of its own.
    """
    before, after = (_runs(checkout, sweep, work / side) for side, checkout in sides.items())
    key, *values = sweep.replace("=", ",").split(",")
    if " " not in sweep and len(values) > 1 and not (before and after):
        for value in values:
            yield from _pairs(sides, f"{key}={value}", work)
        return
    for level in sorted(before.keys() | after.keys()) or [ONLY]:
        name = sweep if level == ONLY else level
        yield name, before.get(level), after.get(level)


def _sweeps(checkout: Path) -> list[str]:
    """Return the overrides of every sweep, with the options that a checkout has."""
    globbed = [
        f"{group}={','.join(sorted(p.stem for p in (checkout / 'conf' / group).glob('*.yaml')))}"
        for group in GROUPS
    ]
    return [*globbed, *KEYS]


def _runs(checkout: Path, sweep: str, work: Path) -> dict[str, dict[str, Any]]:
    """Run a sweep in a checkout unless `work` has its results; return these, by overrides.

    The results are those of `read_cells`.
    """
    name = "".join(c if c.isalnum() else "_" for c in sweep)
    results, done = work / name, work / f"{name}.json"
    if not done.exists():
        command = [
            *(str(checkout / ".venv/bin/python"), "-m", "ablate", "-m", *BUDGET, *sweep.split()),
            *(f"paths.results={results}", f"paths.cache={work / 'cache'}"),
        ]
        log = subprocess.run(
            command,
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},  # instead of .venv's package
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
        )
        work.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(read_cells(results)), encoding="utf-8")
        if log.returncode:
            print(f"{sweep}: exit status {log.returncode}: {log.stdout[-500:]}{log.stderr[-500:]}")
    cells: dict[str, dict[str, Any]] = json.loads(done.read_text(encoding="utf-8"))
    return cells


def read_cells(results: Path) -> dict[str, dict[str, Any]]:
    """Return the results of every cell (run of a sweep) in a folder, by its overrides.

    The keys are the overrides that not all cells share. If several sweeps have the same cell, the
    latest sweep counts.

    Returns:
        status: status of the run.
        metrics: its metrics; {} if the run has failed.
        seconds: duration of each phase; {} if the run has failed.
        translations: contents of the files with translations; [] without an evaluation.
    """
    cells = {}
    for path in sorted(results.glob("sweeps/*/*/cells/*.json")):
        cell = json.loads(path.read_text(encoding="utf-8"))
        folder = path.parents[1] / cell["evaluation"] if cell.get("evaluation") else None
        hypotheses = sorted(folder.glob("*.hyp")) if folder else []
        cells[" ".join(sorted(cell["overrides"]))] = {
            "status": cell["status"],
            "metrics": cell.get("metrics", {}),
            "seconds": cell.get("seconds", {}),
            "translations": [text.read_text(encoding="utf-8") for text in hypotheses],
        }
    return {_short(key, cells): value for key, value in cells.items()}


def _short(overrides: str, every: dict[str, Any]) -> str:
    """Return the overrides that not all arms in `every` share; ONLY for a single arm."""
    shared = set.intersection(*(set(other.split()) for other in every))
    return " ".join(word for word in overrides.split() if word not in shared) or ONLY


def _metrics(cell: dict[str, Any]) -> set[str]:
    """Return the names of the metrics of a result."""
    return set(cell["metrics"])


def _difference(before: Cell, after: Cell) -> str:
    """Return the differences between two results in words; "" if they are equal."""
    if before is None and after is None:
        return REFUSED
    if before is None or after is None:
        return "missing " + ("before" if before is None else "after")
    if "failed" in (before["status"], after["status"]):
        return f"{before['status']} before, {after['status']} after"
    unequal = [key for key in ("status", "translations") if before[key] != after[key]]
    for key in sorted(_metrics(before) & _metrics(after)):
        values = [side["metrics"].get(key) for side in (before, after)]
        if repr(values[0]) != repr(values[1]):
            unequal.append(f"{key}: {values[0]} and {values[1]}")
    return "; ".join(unequal)


if __name__ == "__main__":
    sys.exit(main())
