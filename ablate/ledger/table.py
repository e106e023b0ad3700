"""The ledger in a terminal."""

from collections.abc import Iterator
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ablate.config.smoke import SMOKE
from ablate.ledger.entries import STATES, Entry, count
from ablate.ledger.family import changes
from ablate.ledger.state import DEPENDS
from ablate.ledger.verdicts import Finding
from ablate.phrases import listed
from ablate.report.marks import AGAIN, MARKS

COLUMNS = ("claim", "statement", "verdict", "where")
GAP = 2  # spaces between columns
MIN_STATEMENT = 16


def lines(entries: list[Entry], width: int) -> Iterator[RenderableType]:
    """Yield a heading and a table for each group; statements end where `width` does.

    Ids are never cut, since one needs them to write a study: in a narrow terminal they take
    two lines.
    """
    widths = _widths(entries, width)
    yield _table([[Text(name, style="bold") for name in COLUMNS]], widths)
    for group, members in groupby(entries, key=lambda entry: entry.claim.group):
        yield Text(f"\n{group}", style="bold underline")
        yield _table([_cells(entry) for entry in members], widths)


def summary(entries: list[Entry], of: list[Entry]) -> str:
    """How many claims are shown, and how many of them have which verdict."""
    counts = count(entries)
    shown, everything = sum(counts.values()), sum(count(of).values())
    amount = f"{shown} claims" if shown == everything else f"{shown} of {everything} claims"
    states = ", ".join(f"{counts[state]} {state}" for state in STATES)
    smoke = sum(entry.smoke for entry in entries)
    differ = sum(entry.differs for entry in entries)
    smaller = sum(any("smaller" in one.grade for one in entry.findings) for entry in entries)
    outside = len(entries) - shown
    bounded = changes(finding for entry in of for finding in entry.findings)
    return (
        f"{amount}: {states}"
        + (f"; {smoke} only at smoke scale" if smoke else "")
        + (f"; {differ} with another verdict in another regime" if differ else "")
        + (f"; {smaller} refuted as real, but smaller than the margin" if smaller else "")
        + (f"; {outside} outside the ledger" if outside else "")
        + (f"; {bounded}" if bounded.tested else "")
        + _again(of)
    )


def _again(entries: list[Entry]) -> str:
    """How many verdicts were asked again with fresh seeds, and what these said."""
    words = [one.again["replication"] for e in entries for one in e.findings if one.again]
    said = [f"{words.count(word)} {word}" for word in AGAIN if word in words]
    of = f"of {len(words)} verdict{'s' * (len(words) != 1)}"
    return f"; {of} that fresh seeds were asked for {listed(said)}" if said else ""


def _widths(entries: list[Entry], width: int) -> list[int]:
    ids = min(max(len(entry.claim.id) for entry in entries), width // 3)
    verdicts = max(len(_verdict(entry)) for entry in entries)
    places = min(max(len(_where(entry)) for entry in entries), width // 4)
    statements = max(width - ids - verdicts - places - 3 * GAP, MIN_STATEMENT)
    return [ids, statements, verdicts, places]


def _table(rows: list[list[Text]], widths: list[int]) -> Table:
    table = Table.grid(padding=(0, GAP, 0, 0))
    for name, width in zip(COLUMNS, widths, strict=True):
        cut = name == "statement"
        table.add_column(width=width, no_wrap=cut, overflow="ellipsis" if cut else "fold")
    for row in rows:
        table.add_row(*row)
    return table


def _cells(entry: Entry) -> list[Text]:
    return [
        Text(entry.claim.id),
        Text(entry.claim.statement),
        Text(_verdict(entry), style=_style(entry)),
        Text(_where(entry)),
    ]


def _verdict(entry: Entry) -> str:
    return f"{MARKS[entry.verdict].letter} {entry.verdict}"


def _style(entry: Entry) -> str:
    return f"bold {MARKS[entry.verdict].colour}" if entry.findings else ""


def _where(entry: Entry) -> str:
    """Every regime with its verdict, after what the claim depends on; or its standing."""
    on = [f"on {entry.state.on}"] if entry.verdict == DEPENDS else []
    if not entry.findings:
        return entry.state.on
    if len(entry.findings) == 1:
        return f"{_place(entry.findings[0])}{_grade(entry.findings[0])}"
    return "; ".join([*on, *(f"{one.verdict}: {_place(one)}" for one in entry.findings)])


def _grade(finding: Finding) -> str:
    return f": {finding.grade}" if finding.grade else ""


def _place(finding: Finding) -> str:
    reading = f" ({finding.reading})" if finding.reading else ""
    return f"{finding.experiment}{reading}, {_regime(finding)}"


def _regime(finding: Finding) -> str:
    flags = [SMOKE] if finding.scale == SMOKE else []
    flags += [finding.budget] if finding.budget else []
    flags += ["exploratory"] if finding.exploratory else []
    flags += [f"replaced by {finding.replaced.by}"] if finding.replaced else []
    flags += [f"fresh seeds: {finding.again['replication']}"] if finding.again else []
    if finding.ledger_wide:
        flags += [f"ledger-wide {finding.ledger_wide}", f"q {finding.discovery:.2g}"]
    return finding.data + (f" ({', '.join(flags)})" if flags else "")
