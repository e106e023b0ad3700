"""End a sweep: print its table and, if it has a study, its verdicts and its report.

Smoke tests (scale=smoke) and parts of a study (with some of its runs) have no verdict.
"""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from textwrap import wrap

from omegaconf import DictConfig
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ablate.config.location import NO_VERDICT, SMOKE
from ablate.console import make_console
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.log import looked
from ablate.evidence.outcome import NOT_LEARNED, PROBE, STATUSES, Row, rows
from ablate.phrases import counted
from ablate.record.files import write_text
from ablate.record.results import read_links
from ablate.verdict.types import Verdict

PART = (
    "This sweep has only some of the planned seeds or variants, so it has no verdict. Its results "
    "were seen, so they count as an interim analysis. For the verdict, repeat the command with all "
    "seeds and variants (stored runs are reused), or join the folders of all parts (ablate join)"
)
NOT_LEARNED_SCORES = (
    "A run that diverged or collapsed counts with BLEU 0 and the nll of a unigram model."
)
IN_FILE_ONLY = ("test/bleu_tokenised", "test/chrf", "test/length_ratio", "test/calibration_error")
COUNTS = (*STATUSES[1:], "reused")  # columns that the terminal shows only if a value is not 0
ARM = 18  # maximum number of letters per line of an arm's name in a terminal
FILE_WIDTH = 140  # width of a table in a file or a pipe


def end(config: DictConfig) -> int:
    """Print the table of a sweep, judge its claims and write its report.

    Returns:
        the number of failed runs.
    """
    from pandas import DataFrame  # takes half a second

    from ablate.report.content import announce_report, markdown

    sweep = Path(config.hydra.sweep.dir)
    evidence = gather(sweep)
    console = make_console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    asked = {claim["metric"] for claim in evidence.study["claims"]}
    arms = rows(evidence.runs, asked)
    if not evidence.study.get("design"):  # an arm of a study of combinations has many levels
        console.print(as_rich(evidence.name, arms, asked))
    write_text(sweep / "table.md", markdown(DataFrame(arms)))
    if any(run["status"] in NOT_LEARNED for run in evidence.runs):
        console.print(NOT_LEARNED_SCORES, soft_wrap=True)
    if config.study is not None and evidence.regime["scale"] == SMOKE:
        console.print(f"\n{NO_VERDICT}.", soft_wrap=True)
    elif config.study is not None:
        if verdict := _judge(config, evidence):
            announce_report(console, evidence, verdict, sweep)
        else:
            console.print(f"\n{PART}", soft_wrap=True)
    failed = Counter(run["error"] for run in evidence.runs if run["status"] == "failed")
    for error, count in failed.items():
        console.print(f"failed: {counted(count, 'run')}: {error}", style="red", soft_wrap=True)
    console.print(f"table, verdicts and records of all runs: {sweep}", soft_wrap=True)
    for sentence in logger_failures(sweep):
        console.print(sentence, style="yellow", soft_wrap=True)
    if advice := _advice(config, sweep):
        console.print(advice, soft_wrap=True)
    return failed.total()


def _advice(config: DictConfig, sweep: Path) -> str:
    """Return how to send runs to W&B that were offline; "" if there are none."""
    if config.logger is None:
        return ""
    from ablate.wandb.connection import LOGGER, advise_sync

    return advise_sync(sweep) if config.logger.get("_target_") == LOGGER else ""


def logger_failures(sweep: Path) -> list[str]:
    """Return a warning for each distinct message about a failed logger in the runs of a sweep."""
    links = [link for link in read_links(sweep) if "folder" in link]
    sentences = Counter(line for link in links for line in {*link.get("logger_failures", [])})
    return [
        f"warning: in {count} of {len(links)} runs {sentence}; the records of the runs are complete"
        for sentence, count in sentences.items()
    ]


def _judge(config: DictConfig, evidence: Evidence) -> Verdict | None:
    """Write the evidence, the verdicts and the report of a sweep, record the analysis in the
    analysis log and in W&B, and return the verdicts.

    The result is None for a part of a study, which has no verdict and no report.
    """
    from ablate.report.write import write_report  # imports matplotlib

    sweep = Path(config.hydra.sweep.dir)
    if not evidence.study.get("exploratory"):
        evidence = looked(Path(config.paths.results), sweep, evidence)
    evidence.save(sweep)
    if evidence.is_part:
        return None
    verdict = write_report(evidence, sweep)
    if config.logger is not None:
        from ablate.wandb.analysis import log_analysis  # imports W&B

        log_analysis(config, evidence, verdict, sweep)
    return verdict


def as_rich(title: str, table_rows: list[Row], asked: Collection[str] = ()) -> Table:
    """Return the table of arms for a terminal, which has fewer columns than the Markdown file.

    Args:
        title: title of the table.
        table_rows: one row per arm.
        asked: metrics of the claims. If there are any, the table leaves out all other metrics that
            come from a probe (a measurement of an untrained model).
    """
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0)
    )
    names = [name for name in (table_rows[0] if table_rows else ()) if _shown(name, asked)]
    names = [
        name for name in names if name not in COUNTS or any(r[name] != "0" for r in table_rows)
    ]
    for name in names:
        words = " ".join(row[name] for row in table_rows).split()
        table.add_column(
            name,
            justify="left" if name == "arm" else "right",
            overflow="fold",
            min_width=max(map(len, words)),  # narrow terminals break lines between words
            no_wrap=name == "arm",  # wrapped below, because rich would crop the last column
        )
    for row in table_rows:
        # Text, because a label such as callbacks=[early_stopping] would be read as markup
        cells = {
            **row,
            "arm": "\n".join(wrap(row["arm"], ARM, break_long_words=False, break_on_hyphens=False)),
        }
        table.add_row(*(Text(cells[name]) for name in names))
    return table


def _shown(name: str, asked: Collection[str]) -> bool:
    probed = name.startswith(PROBE) and bool(asked)
    return name in asked or not (probed or name in IN_FILE_ONLY)
