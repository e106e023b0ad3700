"""Print the ledger as lines of text: every claim with its verdicts, uncut."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.text import Text

from ablate.config.labels import option_label
from ablate.config.smoke import SMOKE
from ablate.ledger.entries import Entry, count
from ablate.ledger.headline import HEADLINES, UNDECIDED
from ablate.ledger.places import COMMITTED
from ablate.ledger.verdicts import Finding
from ablate.ledger.wording import bounds, marked
from ablate.phrases import listed
from ablate.report.marks import MARKS

INDENT = "    "
WHOLE = "--all"  # the flag with which every verdict is listed


def lines(entries: Iterable[Entry], width: int | None, *, whole: bool = True) -> Iterator[Text]:
    """Yield a heading for each group, a line for each claim and a line for each of its verdicts.

    Args:
        entries: the claims with their verdicts.
        width: number of characters after which lines are wrapped; None to wrap no line.
        whole: whether to list verdicts that do not affect the headline, instead of counting them.
    """
    for group, members in groupby(entries, key=lambda entry: entry.claim.group):
        yield Text()
        yield Text(_folded(group, width), style="bold underline")
        for entry in members:
            state = _state(entry)
            line = Text(_folded(f"{state}  {entry.claim.id}  {entry.claim.statement}", width))
            line.stylize(_style(entry), 0, len(state))
            yield line
            for text in _below(entry, whole=whole):
                yield Text(_folded(INDENT + text, width), style="dim")


def totals(entries: list[Entry], every: list[Entry]) -> str:
    """Return a line with the numbers of shown claims that are supported, refuted, mixed and so on.

    Args:
        entries: the claims that are shown.
        every: all claims of the ledger.
    """
    counts = count(entries)
    shown, all_claims = sum(counts.values()), sum(count(every).values())
    amount = str(shown) if shown == all_claims else f"{shown} of {all_claims}"
    amount += " claim" if all_claims == 1 else " claims"
    outside = len(entries) - shown
    if outside and not shown:
        return f"claims that no document makes: {outside}"
    states = ", ".join(f"{counts[state]} {state}" for state in HEADLINES)
    return f"{amount}: {states}" + (f"; {outside} outside the ledger" if outside else "")


def _folded(text: str, width: int | None) -> str:
    """Return a text without line breaks, wrapped to a width."""
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


def _below(entry: Entry, *, whole: bool) -> Iterator[str]:
    """Yield the lines of text that are printed below a claim.

    They say why the claim is not testable, in which settings it was decided, what the verdicts on
    it are, and which headlines follow from the user's experiments alone or sweeps alone.

    Args:
        entry: the claim with its verdicts.
        whole: whether to list verdicts that do not affect the headline, instead of counting them.
    """
    if entry.standing:
        yield entry.standing.why
    yield from bounds(entry.headline)
    rest = [finding for finding in entry.findings if finding not in entry.headline.deciding]
    yield from (_line(entry, finding) for finding in entry.headline.deciding)
    if rest and whole:
        yield "These verdicts do not decide the claim:"
        yield from (INDENT + _line(entry, finding) for finding in rest)
    elif rest:
        verdicts = Counter(_verdict(finding) for finding in rest)
        counts = listed([f"{n} {verdict}" for verdict, n in verdicts.items()])
        yield f"Verdicts that do not decide it ({WHOLE} lists them): {counts}."
    for origin, other in entry.beside.items():
        yield f"{origin}: {marked(other)}"


def _line(entry: Entry, finding: Finding) -> str:
    """Return a line of text for a verdict: its answer, the sentence that the experiment tested, and
    the setting (such as corpus, size and steps).

    The sentence is left out if it is the sentence of the claim in the document.
    """
    start = f"{_origin(finding)}{_verdict(finding)}{f', {finding.grade}' if finding.grade else ''}"
    asked = finding.statement.rstrip(".")
    asked = "" if asked == entry.claim.statement.rstrip(".") else f"{asked} "
    alike = [other for other in entry.findings if _question(other) == _question(finding)]
    reading = f"{finding.reading}, " if len(alike) > 1 and finding.reading else ""
    return f"{start}: {asked}({reading}{_setting(finding)})"


def _question(finding: Finding) -> tuple[str, ...]:
    return finding.experiment, finding.statement, finding.budget


def _verdict(finding: Finding) -> str:
    return UNDECIDED if finding.verdict == "inconclusive" else finding.verdict


def _origin(finding: Finding) -> str:
    return "" if finding.origin == COMMITTED else f"{finding.origin}: "


def _setting(finding: Finding) -> str:
    """Return the experiment of a verdict, its corpus and budget, and reasons to doubt the
    verdict.
    """
    parts = [finding.experiment]
    parts += [option_label("data", finding.data), finding.budget] if finding.trained else []
    parts += [SMOKE] if finding.scale == SMOKE else []
    parts += ["exploratory"] if finding.exploratory else []
    parts += ["no document asks this"] if finding.remark else []
    parts += [f"fresh seeds: {finding.again['replication']}"] if finding.again else []
    if finding.ledger_wide == "inconclusive" != finding.verdict:
        parts += ["undecided if corrected for all claims of the ledger"]
    return ", ".join(part for part in parts if part)
