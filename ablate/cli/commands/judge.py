"""Judge finished runs: write a verdict for each claim, and the report. Nothing is trained.

SOURCE is the folder of a sweep, experiments/NAME, or, with a STUDY file, a table of runs that
ablate did not train (docs/howto/referee.md). The report is written to the folder of the sweep,
or to the folder to=.

example:
  ablate judge results/sweeps/preln_vs_postln/TIME
  ablate judge runs.csv study.yaml --json
"""

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.cli.parser import PATH, Parser, one_of
from ablate.errors import UserError

if TYPE_CHECKING:
    from ablate.evidence.folder import Evidence
    from ablate.referee.compare import Comparison
    from ablate.verdict.types import Verdict

FIRST = "reading the evidence"
WANDB = "wandb: log the verdict to W&B as a sweep does; W&B's variables have the settings"


def add_arguments(parser: Parser) -> None:
    """Declare the source of the runs, the study file of a table, and the outputs: JSON, and the
    folders of the report and of the tables.
    """
    about = "folder of a sweep with a study, or experiments/NAME"
    parser.add_argument("source", metavar="SOURCE", help=about)
    parser.add_argument(
        "study",
        metavar="STUDY",
        nargs="?",
        help="YAML file with the question about a table; without it SOURCE is a sweep",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_key("to", "folder for the evidence, the verdict and the report", PATH)
    parser.add_key("logger", WANDB, one_of("wandb"))
    parser.add_key("tables", "folder for the tables, as Markdown, LaTeX and CSV", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Write the report and print the verdicts.

    Raises:
        UserError: the source has no finished runs or no claims.
    """
    if arguments.study:
        _judge_table(arguments)
        return
    from ablate.errors import make_console
    from ablate.evidence.checks import ANALYSIS_LOG, add_to_manifest
    from ablate.record.files import check_links, write_text
    from ablate.report.content import announce_report
    from ablate.report.write import write_report, write_tables
    from ablate.sweep.load import evidence_to_judge
    from ablate.verdict.conclude import conclude
    from ablate.verdict.stored import RESULT

    source = Path(arguments.source).expanduser()
    evidence, target = evidence_to_judge(source), arguments.to or source
    verdict = conclude(evidence)  # before anything is written
    check_links(target, target)
    if arguments.to:
        for name in (ANALYSIS_LOG, RESULT):
            if (source / name).exists():
                write_text(target / name, (source / name).read_text(encoding="utf-8"))
        evidence.save(target)  # its seal covers the log
        add_to_manifest(target, evidence)
    verdict = write_report(evidence, target, verdict)
    if arguments.tables:
        write_tables(evidence, verdict, arguments.tables)
    if arguments.logger:
        _log(evidence, verdict, target)
    if arguments.json:
        print(json.dumps(verdict, indent=1))
        return
    announce_report(make_console(), evidence, verdict, target)
    if arguments.tables:
        print(f"tables: {arguments.tables}")


def show(comparison: "Comparison", arguments: argparse.Namespace) -> None:
    """Print a verdict, as text or as JSON; with to=FOLDER, write its files first; with
    logger=wandb, log it to W&B.
    """
    if arguments.to:
        comparison.write(arguments.to)
    if arguments.logger:
        _log(comparison.evidence, comparison.verdict, arguments.to or Path.cwd())
    print(json.dumps(comparison.to_dict(), indent=1) if arguments.json else comparison)
    if arguments.to and not arguments.json:
        print(f"\nreport: {arguments.to / 'report.md'}")


def _log(evidence: "Evidence", verdict: "Verdict", folder: Path) -> None:
    """Log a verdict to W&B, with the settings of logger=wandb."""
    from omegaconf import OmegaConf

    from ablate.config import CONF
    from ablate.wandb.analysis import log_analysis  # imports W&B
    from ablate.wandb.connection import advise_sync

    logger = OmegaConf.load(CONF / "logger" / "wandb.yaml")
    with contextlib.redirect_stdout(sys.stderr):  # standard output may be JSON
        log_analysis(OmegaConf.create({"logger": logger}), evidence, verdict, folder)
        if advice := advise_sync(folder):
            print(advice)


def _judge_table(arguments: argparse.Namespace) -> None:
    """Judge runs that ablate did not train."""
    from ablate.referee.compare import judge

    if arguments.tables:
        raise UserError("tables= works only for a sweep; use --json for a table of runs")
    show(judge(arguments.source, arguments.study), arguments)
