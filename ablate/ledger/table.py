"""The ledger as lines of text: every claim with its verdicts, and nothing cut."""

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.text import Text

from ablate.config.smoke import SMOKE
from ablate.ledger.entries import Entry, count
from ablate.ledger.headline import HEADLINES
from ablate.ledger.places import COMMITTED
from ablate.ledger.verdicts import Finding
from ablate.ledger.wording import bounds, marked
from ablate.report.marks import MARKS

INDENT = "    "


def lines(entries: Iterable[Entry], width: int | None) -> Iterator[Text]:
    """Yield a heading for each group, a line for each claim and one for each of its verdicts.

    Lines break between words after `width` characters; without a width they do not break.
    """
    for group, members in groupby(entries, key=lambda entry: entry.claim.group):
        yield Text()
        yield Text(_folded(group, width), style="bold underline")
        for entry in members:
            state = _state(entry)
            line = Text(_folded(f"{state}  {entry.claim.id}  {entry.claim.statement}", width))
            line.stylize(_style(entry), 0, len(state))
            yield line
            yield from (Text(_folded(INDENT + text, width), style="dim") for text in _below(entry))


def totals(entries: list[Entry], every: list[Entry]) -> str:
    """Say how many claims of documents are shown, how many of them have which state, and others."""
    counts = count(entries)
    shown, all_claims = sum(counts.values()), sum(count(every).values())
    amount = f"{shown} claims" if shown == all_claims else f"{shown} of {all_claims} claims"
    outside = len(entries) - shown
    if outside and not shown:
        return f"claims that no document makes: {outside}"
    states = ", ".join(f"{counts[state]} {state}" for state in HEADLINES)
    return f"{amount}: {states}" + (f"; {outside} outside the ledger" if outside else "")


def _folded(text: str, width: int | None) -> str:
    """Return a text without line breaks of its own, broken between words to fit a width."""
    text = " ".join(text.splitlines())
    if width is None:
        return text
    return textwrap.fill(
        text,
        width,
        subsequent_indent=2 * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _state(entry: Entry) -> str:
    return marked(entry.headline) + (f" ({entry.origin})" if entry.by_user else "")


def _style(entry: Entry) -> str:
    return f"bold {MARKS[entry.verdict].colour}" if entry.headline.deciding else ""


def _below(entry: Entry) -> Iterator[str]:
    """Yield why no run decides a claim, its verdicts, and the states that stand beside its own."""
    if entry.standing:
        yield entry.standing.why
    yield from bounds(entry.headline)
    for finding in entry.findings:
        beside = "" if finding in entry.headline.deciding else "beside it, "
        yield f"{beside}{_origin(finding)}{finding.graded}: {_place(finding)}"
    for origin, other in entry.beside.items():
        yield f"{origin}: {marked(other)}"


def _origin(finding: Finding) -> str:
    return "" if finding.origin == COMMITTED else f"{finding.origin}: "


def _place(finding: Finding) -> str:
    reading = f" ({finding.reading})" if finding.reading else ""
    return f"{finding.experiment}{reading}, {_regime(finding)}"


def _regime(finding: Finding) -> str:
    flags = [SMOKE] if finding.scale == SMOKE else []
    flags += [finding.budget] if finding.budget else []
    flags += ["exploratory"] if finding.exploratory else []
    flags += ["a remark"] if finding.remark else []
    flags += [f"fresh seeds: {finding.again['replication']}"] if finding.again else []
    if finding.ledger_wide:
        flags += [f"ledger-wide {finding.ledger_wide}"]
    return finding.data + (f" ({', '.join(flags)})" if flags else "")
