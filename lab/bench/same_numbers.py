"""Whether two checkouts compute the same numbers: every level, trained, validated and tested.

    python -m lab.bench.same_numbers BEFORE AFTER [--work FOLDER] [--only TEXT]

Each level of each group (as BEFORE has them) and a few single keys are trained for some steps in
both checkouts by the same command. Equal means to the last bit: `val/nll`, every other metric, the
translations and the number of parameters. Prints a row per level and exits with 1 where one
differs. Sweeps that are done are not run again as long as FOLDER is kept.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

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
)
# keys and levels that a group's glob does not reach
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
    """Compare, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="checkout with its own .venv")
    parser.add_argument("after", type=Path, help="the other one")
    parser.add_argument("--work", type=Path, default=None, help="folder for the runs of both")
    parser.add_argument("--only", default="", help="sweeps whose overrides contain this text")
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="same_numbers_"))
    sweeps = [sweep for sweep in _sweeps(given.before) if given.only in sweep]
    differing = 0
    for number, sweep in enumerate(sweeps):
        before, after = (
            _runs(checkout.resolve(), sweep, work / side)
            for side, checkout in (("before", given.before), ("after", given.after))
        )
        for level in sorted(before.keys() | after.keys()):
            difference = _difference(before.get(level), after.get(level))
            differing += bool(difference)
            nll = (before.get(level) or {}).get("metrics", {}).get("val/nll")
            print(f"| {number} | {sweep} | {level} | {nll} | {difference or 'equal'} |", flush=True)
    print(f"{differing} differ")
    return int(differing > 0)


def _sweeps(checkout: Path) -> list[str]:
    """Return the overrides of every sweep."""
    globbed = [
        f"{group}={','.join(sorted(p.stem for p in (checkout / 'conf' / group).glob('*.yaml')))}"
        for group in GROUPS
    ]
    return [*globbed, *KEYS]


def _runs(checkout: Path, sweep: str, work: Path) -> dict[str, dict[str, Any]]:
    """Return what each arm of a sweep gave, by its overrides."""
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
            env={**os.environ, "PYTHONPATH": str(checkout)},  # and not the package of the .venv
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
    """Return the numbers of every cell, of the latest sweep that has it; a failed cell has none."""
    cells = {}
    for path in sorted(results.glob("sweeps/*/*/cells/*.json")):
        cell = json.loads(path.read_text(encoding="utf-8"))
        folder = Path(cell["evaluation"]) if cell.get("evaluation") else None
        hypotheses = sorted(folder.glob("*.hyp")) if folder else []
        cells[" ".join(sorted(cell["overrides"]))] = {
            "status": cell["status"],
            "metrics": cell.get("metrics", {}),
            "seconds": cell.get("seconds", {}),
            "translations": [text.read_text(encoding="utf-8") for text in hypotheses],
        }
    return {_short(key, cells): value for key, value in cells.items()}


def _short(overrides: str, every: dict[str, Any]) -> str:
    """Return the overrides in which an arm differs from the others of its sweep."""
    shared = set.intersection(*(set(other.split()) for other in every))
    return " ".join(word for word in overrides.split() if word not in shared) or "the only one"


def _difference(before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    """Return what differs, or nothing."""
    if before is None or after is None:
        return "missing " + ("before" if before is None else "after")
    if "failed" in (before["status"], after["status"]):
        return f"{before['status']} before, {after['status']} after"
    unequal = [key for key in ("status", "translations") if before[key] != after[key]]
    for key in sorted(before["metrics"]):  # what is measured since then differs from nothing
        values = [side["metrics"].get(key) for side in (before, after)]
        if repr(values[0]) != repr(values[1]):
            unequal.append(f"{key}: {values[0]} and {values[1]}")
    return "; ".join(unequal)


if __name__ == "__main__":
    sys.exit(main())
