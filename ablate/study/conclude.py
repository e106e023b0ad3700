"""The end of a sweep: its table and, where it has a study, its verdicts."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from ablate.study.table import as_markdown, as_rich, rows
from ablate.study.verdict import INCONCLUSIVE, judge
from ablate.sweep.cell import read_links, swept
from ablate.tracking.files import write_json, write_text

OFFLINE = "wandb/offline-run-*"  # what W&B keeps of a run until it is synced
FILE_WIDTH = 140  # of a table that goes to a file or a pipe


def conclude(config: DictConfig) -> int:
    """Print and write the table and verdict.json of a sweep; return the number of failed runs."""
    sweep = Path(config.hydra.sweep.dir)
    runs = read_links(sweep)
    study = None if config.study is None else _plain(config)
    factors = study["factors"] if study else swept(runs)
    arms = rows(runs, factors)
    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    console.print(as_rich(config.name, arms))
    if study:
        verdicts = [judge(claim, runs) for claim in study["claims"]]
        _announce(console, verdicts)
        regime = _regime(config)
        write_json(sweep / "verdict.json", {**regime, "claims": verdicts, "study": study})
    write_text(sweep / "table.md", as_markdown(arms))
    failed = [run for run in runs if run["status"] == "failed"]
    for run in failed:
        console.print(f"failed: cell {run['cell']}: {run['error']}", style="red", markup=False)
    console.print(f"table, verdicts and the records of all cells: {sweep}", highlight=False)
    if any(any(Path(run.get("folder", sweep)).glob(OFFLINE)) for run in runs):
        everything = Path(config.paths.results) / "runs" / "*" / OFFLINE
        console.print(f"W&B was offline; to send its runs: wandb sync {everything}")
    return len(failed)


def _announce(console: Console, verdicts: list[dict[str, Any]]) -> None:
    for found in verdicts:
        console.print(f"\n[bold]{found['verdict'].upper()}[/bold]  {found['statement']}")
        console.print(f"  {found['sentence']}", highlight=False, markup=False)
        among = found.get("among_converged_pairs")
        if among and among["pairs"] != found["pairs"] and among["pairs"]:
            low, high = among["interval"]
            text = f"{among['effect']:+.2f} [{low:+.2f}, {high:+.2f}]"
            console.print(f"  among the {among['pairs']} converged pairs: {text}", highlight=False)
        if found["verdict"] == INCONCLUSIVE:
            console.print("  More seeds, or a larger margin, would be needed to decide.")
    if any("interval" in found for found in verdicts):
        console.print(
            "\nIntervals are over seeds, on one test set: they do not cover other test "
            f"sentences, and are not adjusted for the number of claims ({len(verdicts)}).",
            soft_wrap=True,
        )


def _plain(config: DictConfig) -> dict[str, Any]:
    # resolved as part of the whole: a study refers to the budget
    whole: Any = OmegaConf.to_container(config, resolve=False)
    del whole["hydra"]
    tree: Any = OmegaConf.to_container(OmegaConf.create(whole), resolve=True)
    return dict(tree["study"])


def _regime(config: DictConfig) -> dict[str, Any]:
    """What a verdict holds for: the data, the size and the budget of its runs."""
    choices = config.hydra.runtime.choices
    return {
        "experiment": config.name,
        "regime": {
            "scale": choices.scale,
            "data": choices.data,
            "model": choices.model,
            "steps": config.budget.steps,
            "tokens_per_step": config.batch.tokens,
        },
    }
