"""Write the ledger (the list of all claims with their verdicts) in words: headlines for the
terminal and for pages, every claim with its verdicts, uncut, and a summary on one screen.

A headline combines all verdicts on a claim in a word, such as "supported" or "mixed".
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.text import Text

from ablate.config.labels import option_label
from ablate.config.smoke import SMOKE
from ablate.ledger.entries import ONLY, Entry, count
from ablate.ledger.headline import (
    HEADLINES,
    MIXED,
    NOT_TESTABLE,
    UNDECIDED,
    Headline,
)
from ablate.ledger.places import COMMITTED
from ablate.ledger.verdicts import Finding, changes
from ablate.phrases import counted, listed
from ablate.report.marks import AGAIN, MARKS
from ablate.verdict.decision import INCONCLUSIVE

INDENT = "    "
WHOLE = "--all"  # the flag with which every verdict is listed
WIDTH = 80
QUESTIONS = {  # options of the command, and what they print
    "--all": "every claim with its verdicts",
    "word=warm-up": "claims that contain a word",
    "state=refuted": "claims in one of the states above",
    "document=notes": "claims of a document, by its title",
    "experiment=head_count": "claims that an experiment tests",
    "only=own": "what your own experiments say",
    "--json": "all of it as data (or --csv)",
    "--help": "more filters; they can be combined",
}


def marked(headline: Headline) -> str:
    """Return the word that combines all verdicts on a claim, preceded by the symbol of this word,
    as in "● supported".

    For a mixed result, the properties follow in which its settings differ.
    """
    return f"{MARKS[headline.word].letter} {headline.word}" + (
        f": {detail(headline)}" if headline.word == MIXED else ""
    )


def detail(headline: Headline) -> str:
    """Return the properties in which the supported and the refuted settings of a mixed result
    differ, or why a claim is not testable.

    The result is "" for any other headline.
    """
    if headline.word == MIXED:
        return f"the settings differ in {headline.on}"
    return headline.on if headline.word == NOT_TESTABLE else ""


def bounds(headline: Headline) -> list[str]:
    """Return sentences on the settings in which a claim is supported or refuted, and on the limits
    of these verdicts.
    """
    decided = (
        f"It is {verdict} here: {'; '.join(places)}."
        for verdict, places in settings(headline).items()
    )
    return [*decided, *limits(headline)]


def settings(headline: Headline) -> dict[str, list[str]]:
    """Return the settings in which a mixed or undecided claim is supported, and in which it is
    refuted.

    Returns:
        descriptions of settings, by "supported" and "refuted".
    """
    if headline.word not in (MIXED, UNDECIDED):
        return {}
    places = {verdict: headline.where(verdict) for verdict in ("supported", "refuted")}
    return {verdict: names for verdict, names in places.items() if names}


def _other_tries(headline: Headline) -> Iterator[str]:
    """Yield a sentence for each verdict that other tests of the same setting, such as a replication
    with new seeds, change: a decided verdict that they do not confirm, or an undecided verdict that
    they decide.
    """
    for finding, word in zip(headline.deciding, headline.verdicts, strict=True):
        if finding.verdict != word and word == INCONCLUSIVE:
            yield (
                f"The verdict of {finding.experiment} ({finding.verdict}) counts as undecided: "
                "fresh seeds of the same setting do not confirm it."
            )
        elif finding.verdict != word:
            yield (
                f"The experiment {finding.experiment} left its setting undecided. Fresh seeds "
                f"decide it: {word}, after a correction for testing twice."
            )


def limits(headline: Headline) -> list[str]:
    """Return sentences on parts of a claim without a verdict, on missing evidence, on verdicts that
    replications change, on counterexamples, and on tests that are exploratory or without real text.
    """
    sentences = [*headline.unasked, *map(str, headline.gone), *_other_tries(headline)]
    sentences = [*dict.fromkeys(sentences)]
    if headline.universal:
        sentences.append(
            "One counterexample refutes a sentence without exceptions. It holds here: "
            f"{'; '.join(headline.where('supported'))}."
        )
    if headline.exploratory:
        sentences.append("All verdicts that count are exploratory, so they do not decide it.")
    if headline.artificial:
        sentences.append("Only artificial languages were tested, not real text.")
    if headline.artificial and headline.real_text:
        sentences.append(f"They do not decide it: {headline.real_text}")
    return sentences


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
            state = marked(entry.headline) + (f" ({entry.origin})" if entry.by_user else "")
            line = Text(_folded(f"{state}  {entry.claim.id}  {entry.claim.statement}", width))
            if entry.headline.deciding:
                line.stylize(f"bold {MARKS[entry.verdict].colour}", 0, len(state))
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
        text, width, subsequent_indent=2 * INDENT, break_long_words=False, break_on_hyphens=False
    )


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
    start = "" if finding.origin == COMMITTED else f"{finding.origin}: "
    start += f"{_verdict(finding)}{f', {finding.grade}' if finding.grade else ''}"
    asked = finding.statement.rstrip(".")
    asked = "" if asked == entry.claim.statement.rstrip(".") else f"{asked} "
    asked_once = Counter((f.experiment, f.statement, f.budget) for f in entry.findings)
    once = asked_once[finding.experiment, finding.statement, finding.budget] == 1
    reading = f"{finding.reading}, " if finding.reading and not once else ""
    return f"{start}: {asked}({reading}{_setting(finding)})"


def _verdict(finding: Finding) -> str:
    return UNDECIDED if finding.verdict == INCONCLUSIVE else finding.verdict


def _setting(finding: Finding) -> str:
    """Return the experiment of a verdict, its corpus and budget, and reasons to doubt the
    verdict.
    """
    parts = [finding.experiment]
    corpora = listed([option_label("data", corpus) for corpus in finding.data])
    parts += [corpora, finding.budget] if finding.trained else []
    parts += [SMOKE] if finding.scale == SMOKE else []
    parts += ["exploratory"] if finding.exploratory else []
    parts += ["no document asks this"] if finding.remark else []
    parts += [f"fresh seeds: {finding.again['replication']}"] if finding.again else []
    if finding.ledger_wide == INCONCLUSIVE != finding.verdict:
        parts += ["undecided if corrected for all claims of the ledger"]
    return ", ".join(part for part in parts if part)


def summary(entries: list[Entry]) -> Iterator[str]:
    """Yield the lines of a summary of all claims, each of at most 80 characters.

    There are at most 24 lines, and a few more if evidence is missing.
    """
    counts = count(entries)
    yield f"{sum(counts.values())} claims about the Transformer, by what experiments say of them:"
    for state in HEADLINES:
        yield f"  {MARKS[state].letter} {state:16}{counts[state]:4}"
    yield ""
    notes = " ".join([*_notes(entries), *_by_user(entries)])
    yield from textwrap.wrap(notes, WIDTH, break_on_hyphens=False)
    yield ""
    for options, meaning in QUESTIONS.items():
        yield f"{f'  ablate ledger {options}':38}{meaning}"


def _notes(entries: list[Entry]) -> Iterator[str]:
    """Yield sentences for the summary: on claims that no document makes, on smoke tests, on
    verdicts that differ between settings, on missing evidence, on the correction for multiple
    tests, and on replications.

    The last two are about the committed verdicts, or about all verdicts if none is committed.
    """
    every = [finding for entry in entries for finding in entry.findings]
    findings = [finding for finding in every if finding.origin == COMMITTED] or every
    if outside := sum(entry.outside for entry in entries):
        yield f"Experiments test {counted(outside, 'claim')} that no document makes."
    if smoke := sum(entry.smoke for entry in entries):
        yield f"Tested only at smoke scale, which decides nothing: {counted(smoke, 'claim')}."
    if differ := sum(entry.differs for entry in entries):
        yield f"Verdicts of different settings differ on {counted(differ, 'claim')}."
    if gone := [entry.gone[0] for entry in entries if entry.gone]:
        yield f"{gone[0]}"
        if further := len(gone) - 1:
            yield f"So is evidence on {counted(further, 'other claim')} (ablate ledger --all)."
    family = changes(findings)
    if family.decided:
        yield str(family)
    yield from _replications(findings)


def _replications(findings: list[Finding]) -> Iterator[str]:
    words = [finding.again["replication"] for finding in findings if finding.again]
    counts = [f"{words.count(word)} {word}" for word in AGAIN if word in words]
    if counts:
        yield f"Fresh seeds were asked for {counted(len(words), 'verdict')}: {listed(counts)}."


def _by_user(entries: list[Entry]) -> Iterator[str]:
    every = (finding for entry in entries for finding in entry.findings)
    if findings := [finding for finding in every if finding.origin in ONLY["own"]]:
        claims = len({finding.claim for finding in findings})
        alone = sum(entry.by_user for entry in entries)
        yield f"Your own: {counted(len(findings), 'verdict')} on {counted(claims, 'claim')}."
        if alone:
            yield f"Without a committed verdict: {alone} of these."
