"""Send finished runs to W&B from their records.

The runs in W&B have the names that training would give them.

Runs that W&B already has are skipped, so the command can be repeated. Runs that were reused, were
logged elsewhere, or whose logger failed, are sent. Without a key or an internet connection, each
run is stored in its own folder, below wandb/. Repeat the command to upload these runs.

example:
  ablate upload results project=ablations
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ablate.cli.parser import FOLDER, TEXT, Parser, one_of, several
from ablate.errors import UserError, class_and_line

if TYPE_CHECKING:
    from ablate.wandb.upload import FinishedRun

FIRST = "reading the records"
FOLDERS = (
    "the folder of a run (results/runs/IDENTITY) or of a sweep (results/sweeps/NAME/TIME), "
    "or results"
)
SAID = {"sent": "uploaded", "waiting": "kept offline"}
SETTINGS = ("project", "entity", "group", "name", "notes", "tags")


def add_arguments(parser: Parser) -> None:
    """Declare the folders of runs, and the names (project, group, tags) of the runs in W&B."""
    parser.add_argument("source", metavar="SOURCE", nargs="+", help=FOLDERS)
    parser.add_key("project", "W&B project; default: that of the run, or WANDB_PROJECT")
    parser.add_key("entity", "W&B account or team; default: that of the run, or WANDB_ENTITY")
    parser.add_key("group", "group of all runs; default: their experiment")
    parser.add_key("name", "first part of the names of the runs")
    parser.add_key("notes", "notes on the runs")
    parser.add_key("tags", "tags in addition to the claims", several(TEXT))
    about = "auto: online if there is a key and W&B answers, else offline"
    parser.add_key("mode", about, one_of("auto", "online", "offline"), "auto")


def run(arguments: argparse.Namespace) -> None:
    """Send the runs that W&B does not have yet, and the verdicts of their sweeps.

    Raises:
        UserError: a folder has no runs, a record is damaged, or W&B does not accept a name.
        SystemExit: W&B failed; the status is 1.
    """
    from ablate.wandb.upload import settled_mode

    folders = [_existing(source) for source in arguments.source]
    given = {key: value for key in SETTINGS if (value := getattr(arguments, key))}
    mode = settled_mode(arguments.mode)
    runs = _runs(folders, given)
    for finished in runs:
        finished.check()
    if not runs:
        print("There are no finished runs to upload.")
        return
    try:
        _send(runs, mode)
        _send_analyses(folders, given, mode)
    except UserError:
        raise
    except Exception as error:  # W&B's client raises many kinds of errors
        print(
            f"ablate upload: W&B failed ({class_and_line(error)}); repeat the command to send the "
            "remaining runs",
            file=sys.stderr,
        )
        sys.exit(1)


def _existing(source: str) -> Path:
    try:
        return cast(Path, FOLDER.convert(source))
    except ValueError:
        raise UserError(f"{source} is not a folder: give {FOLDERS}") from None


def _runs(folders: list[Path], given: dict[str, object]) -> list["FinishedRun"]:
    """Return the finished runs in all folders, without duplicates; `given` overrides their W&B
    settings.
    """
    from ablate.wandb.describe import Names
    from ablate.wandb.upload import find_runs

    runs = {run.identity: run for folder in folders for run in find_runs(folder)}
    return [replace(run, names=Names.of({**vars(run.names), **given})) for run in runs.values()]


def _send(runs: list["FinishedRun"], mode: str) -> None:
    lacking = [run for run in runs if run.state != "sent"]
    ends = []
    for number, run in enumerate(lacking, 1):
        ends.append(run.send(mode))
        print(f"{number}/{len(lacking)} {run.folder.name}: {SAID[ends[-1]]}", flush=True)
    if already := len(runs) - len(lacking):
        print(f"W&B had {already} of the {len(runs)} runs before.")
    if waiting := ends.count("waiting"):
        runs_are = "1 run is" if waiting == 1 else f"{waiting} runs are"
        print(
            f"W&B is offline: {runs_are} kept in the folder of each run, below wandb/. "
            "Once there is a key (wandb login) and an internet connection, the same command "
            "uploads what is kept."
        )


def _send_analyses(folders: list[Path], given: dict[str, object], mode: str) -> None:
    """Send the verdicts of the sweeps whose own folders are given; a sweep that is only inside a
    given `results` folder is skipped.
    """
    from omegaconf import OmegaConf

    from ablate.sweep.evidence import from_folder
    from ablate.verdict.conclude import conclude
    from ablate.wandb.analysis import send_analysis
    from ablate.wandb.upload import settings_of_sweep

    for sweep in folders:
        if (sweep / "cells").is_dir() and (sweep / "verdict.json").exists():
            evidence = from_folder(sweep)
            logger = OmegaConf.create({**settings_of_sweep(sweep), **given, "mode": mode})
            send_analysis(logger, evidence, conclude(evidence), sweep, quiet=True)
            print(f"{sweep}: its verdicts are {SAID['sent' if mode == 'online' else 'waiting']}")
