"""Write the results of the calibration into a Markdown page with one table per question."""

import re
from dataclasses import replace
from typing import NamedTuple

from ablate.errors import UserError
from ablate.stats.estimate import Estimate
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import LARGE, SUPPORTED
from lab.calibration.check import Row, failures
from lab.calibration.planned import PROMISES
from lab.calibration.sequential import FALSE as FALSE_STAGED
from lab.calibration.sequential import FIXED, STAGED, USED
from lab.calibration.trial import ALPHA, INTERVAL, Marks

Cell = tuple[str, int]  # kind of noise, number of seeds
Results = dict[Cell, Marks]
Promises = dict[str, Marks]  # by kind of noise
Weak = dict[tuple[str, int], Marks]  # result of lab.calibration.stress.stress
Cells = list[str]
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)

# errors that may happen at a rate of alpha / 2, and at a rate of alpha
HALF = (
    "superiority at effect 0: supported",
    "superiority at effect 0: refuted",
    "superiority at the margin: refuted",
    f"superiority at the margin: {LARGE}",
    "equivalence at +margin: refuted",
    "equivalence at -margin: refuted",
    "non-inferiority at -margin: supported",
    "non-inferiority at -margin: refuted",
    "trend at slope 0: supported",
    "trend at slope 0: refuted",
)
WHOLE = ("equivalence at +margin: supported", "equivalence at -margin: supported", "family")
FALSE = (*HALF, *WHOLE)
PROMISED_POWER = 0.77  # 80 % is promised, and 3 points less are allowed


SECTIONS = (  # sections of the page that have one table each
    *("Verdicts on means", "Seeds needed", "Grouped sentences", "Tuned arms", "Planned looks"),
    "Fishing",
)


class Tried(NamedTuple):
    """Rates of verdicts if a user analyses repeatedly.

    Attributes:
        staged: for each case of planned looks, the proportions that `sequential` counts.
        fished: for each route of `fishing`, the proportion of users with a false verdict.
    """

    staged: dict[str, Marks]
    fished: dict[str, float]


def document(
    page: str,
    results: Results,
    promises: Promises,
    weak: Weak,
    tried: Tried,
    sweeps: int,
    sentences: int,
    margin: float,
) -> str:
    """Return docs/explanation/calibration.md with a new first paragraph and new tables.

    The section on noise that is not normal stays the same (`lab.calibration.robustness`).

    Args:
        page: the page before.
        results: result of `calibrate`.
        promises: result of `keep`.
        weak: result of `stress`.
        tried: result of `tried`.
        sweeps: number of simulated sweeps for each row.
        sentences: number of test sentences.
        margin: margin of the claims in BLEU.

    Raises:
        UserError: the page does not have the headings and tables.
    """
    failed = failures(checked(results, promises, weak, tried, sweeps))
    error = 100 * (0.05 * 0.95 / sweeps) ** 0.5
    paragraph = (
        "This page shows by simulation how often verdicts are wrong. `python -m lab.calibrate` "
        f"writes this page. Each row of a table summarises {sweeps:,} simulated sweeps unless a "
        "section says otherwise. The code that judges real sweeps also judges the simulated "
        f"sweeps, at alpha = {ALPHA}. A measured 5 % has a standard error of {error:.1f} points. "
        "A row fails if the lower 99 % bound of its percentage, corrected for the number of rows "
        "(Bonferroni), is above the allowed percentage. "
        "Rows that fail: " + ("; ".join(failed) or "none") + "."
    )
    page = re.sub(r"^This page .*$", lambda _: paragraph, page, count=1, flags=re.MULTILINE)
    tables = {
        "Verdicts on means": _means_table(results, sentences, margin),
        "Seeds needed": _promise_table(promises),
        "Grouped sentences": _weak_table(weak, *OF_GROUPS),
        "Tuned arms": _weak_table(weak, *OF_TUNING),
        "Planned looks": _staged_table(tried),
        "Fishing": _fished_table(tried),
    }
    for title in SECTIONS:
        page = with_tables(page, title, [tables[title]])
    return page


def with_tables(page: str, title: str, tables: list[list[Cells]]) -> str:
    """Return a Markdown page after the tables below the heading `title` are replaced.

    Raises:
        UserError: the page has no such section with this number of tables.
    """
    section = find_section(page, title, len(tables))
    rest = iter(tables)
    text = TABLE.sub(lambda _: markdown(next(rest)), section[0])
    return page[: section.start()] + text + page[section.end() :]


def find_section(page: str, title: str, tables: int) -> re.Match[str]:
    """Return the section below the heading `title`.

    Raises:
        UserError: the page has no such section with this number of tables.
    """
    heading = rf"^## {re.escape(title)}\n.*?(?=^## |\Z)"
    section = re.search(heading, page, re.DOTALL | re.MULTILINE)
    if not section or len(TABLE.findall(section[0])) != tables:
        raise UserError(
            f"the page has no section '## {title}' with {tables} tables; name another page with "
            "to=, or add its heading and tables"
        )
    return section


def markdown(table: list[Cells]) -> str:
    """Return a table in Markdown; the first row has the heads of the columns."""
    head, *body = table
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, rule, *body))


# Heads of three columns: the name of the row, and two rates. Only the first rate has a limit.
OF_GROUPS = ("correlation, seeds", "documents named", "not named")
OF_TUNING = ("rates, seeds", "a replicate chooses", "an arm chooses")


def checked(
    results: Results, promises: Promises, weak: Weak, tried: Tried, sweeps: int
) -> list[Row]:
    """Return every rate of errors that has a limit, with the limit.

    The rates in the second columns of *Grouped sentences* and *Tuned arms* have no limit.
    """
    rows = [
        Row(f"{_name(row)}, {mark}", marks[mark], ALPHA if mark in WHOLE else ALPHA / 2, sweeps)
        for row, marks in results.items()
        for mark in FALSE
    ]
    rows += [
        Row(f"{_name(row)}, interval", marks[INTERVAL], ALPHA, sweeps)
        for row, marks in results.items()
    ]
    rows += [
        Row(f"{kind}, power of {name}", 1 - promised[name], 1 - PROMISED_POWER, sweeps)
        for kind, promised in promises.items()
        for name in PROMISES
    ]
    for (kind, seeds), marks in weak.items():
        shares = [name for name in (OF_GROUPS[1], OF_TUNING[1]) if name in marks]
        rows += [Row(f"{kind}, {seeds}, {name}", marks[name], ALPHA, sweeps) for name in shares]
    rows += [
        Row(f"{name}, {STAGED}", tried.staged[name][STAGED], level, sweeps)
        for name, level in FALSE_STAGED.items()
        if name in tried.staged
    ]
    return rows + [Row(name, share, ALPHA / 2, sweeps) for name, share in tried.fished.items()]


def _staged_table(tried: Tried) -> list[Cells]:
    names = (FIXED, STAGED, USED)
    rows = [[case, *(_percent(tried.staged[case][x]) for x in names)] for case in tried.staged]
    return [["claim, true effect: verdict", *names], *rows]


def _fished_table(tried: Tried) -> list[Cells]:
    return [["route", "false"], *([name, _percent(x)] for name, x in tried.fished.items())]


def _weak_table(weak: Weak, *head: str) -> list[Cells]:
    shares = {row: marks for row, marks in weak.items() if head[1] in marks}
    rows = [[_name(row), *(_percent(shares[row][name]) for name in head[1:])] for row in shares]
    return [[*head], *rows]


def _means_table(results: Results, sentences: int, margin: float) -> list[Cells]:
    heads = ("intervals", "2.5 % verdicts", "5 % verdicts", "superiority", "equivalence")
    table = [["noise, seeds", *heads]]
    for (kind, seeds), marks in results.items():
        wrong = (marks[INTERVAL], *(max(marks[x] for x in group) for group in (HALF, WHOLE)))
        noise = replace(noise_of(results, kind, sentences), pairs=seeds)
        planned = (
            KINDS["superiority"].power(SUPPORTED, noise, 0.0, margin, seeds, ALPHA),
            KINDS["equivalence"].power(SUPPORTED, noise, margin, 0.0, seeds, ALPHA),
        )
        measured = (marks[f"{kind} planted: supported"] for kind in ("superiority", "equivalence"))
        both = [f"{_percent(m)} / {_percent(p)}" for m, p in zip(measured, planned, strict=True)]
        table.append([_name((kind, seeds)), *map(_percent, wrong), *both])
    return table


def noise_of(results: Results, kind: str, sentences: int) -> Estimate:
    """Return an estimate that has the noise of a difference between two equal arms.

    The noise is that of the row with the most seeds, because few seeds measure it badly.
    """
    best = best_known(results, kind)
    seed = best["noise: seed"] + best["noise: rest"]
    sentence = max(0.0, best["noise: sentence"])
    seeds = most(results, kind)
    return Estimate(0.0, seeds, sentences, seed, sentence, best["noise: skewness"])


def best_known(results: Results, kind: str) -> Marks:
    """Return the marks of the row with this kind of noise and the most seeds."""
    return results[kind, most(results, kind)]


def most(results: Results, kind: str) -> int:
    """Return the largest number of seeds of a row with this kind of noise."""
    return max(n for other_kind, n in results if other_kind == kind)


def _promise_table(promises: Promises) -> list[Cells]:
    table = [["noise", *PROMISES]]
    for kind, promised in promises.items():
        cells = [
            f"{_percent(promised[name])} ({_percent(promised[f'{name}: planned'])}), "
            f"{promised[f'{name}: seeds']:g}"
            for name in PROMISES
        ]
        table.append([kind, *cells])
    return table


def _name(row: Cell) -> str:
    return f"{row[0]}, {row[1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
