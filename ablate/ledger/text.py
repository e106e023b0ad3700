"""Write the ledger (the list of all claims with their verdicts) in words: the reasons of a
headline, every claim with its verdicts, and a summary.

A headline combines all verdicts on a claim in a word, such as "supported" or "mixed".
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.text import Text

from ablate.config.labels import option_label
from ablate.ledger.entries import Entry, count
from ablate.ledger.headline import HEADLINES, MIXED, NOT_TESTABLE, UNDECIDED, Headline
from ablate.ledger.places import COMMITTED
from ablate.ledger.verdicts import Finding
from ablate.phrases import counted, listed
from ablate.report.marks import MARKS
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED

INDENT = "    "
WIDTH = 80
EXAMPLES = """
  ablate ledger warm-up pre-ln        claims with all of these words
  ablate ledger state=refuted         claims in one of the states above
  ablate ledger --all                 every claim with its verdicts
  ablate ledger --help                all filters; they can be combined"""


def marked(headline: Headline) -> str:
    """Return the word that combines all verdicts on a claim, preceded by the symbol of this word,
    as in "● supported".

    For a mixed result, the properties follow in which its settings differ.
    """
    reason = f": {detail(headline)}" if headline.word == MIXED else ""
    return f"{MARKS[headline.word].letter} {headline.word}{reason}"


def detail(headline: Headline) -> str:
    """Return the properties in which the supported and the refuted settings of a mixed result
    differ, or why a claim is not testable; "" for any other headline.
    """
    if headline.word == MIXED:
        return f"the settings differ in {headline.on}"
    return headline.on if headline.word == NOT_TESTABLE else ""


def bounds(headline: Headline) -> list[str]:
    """Return sentences on the settings in which a mixed or undecided claim is supported or refuted,
    and on the limits of these verdicts.
    """
    if headline.word not in (MIXED, UNDECIDED):
        return limits(headline)
    places = {verdict: headline.where(verdict) for verdict in (SUPPORTED, REFUTED)}
    here = [f"It is {verdict} here: {'; '.join(each)}." for verdict, each in places.items() if each]
    return [*here, *limits(headline)]


def limits(headline: Headline) -> list[str]:
    """Return sentences on parts of a claim without a verdict, on missing evidence, on verdicts that
    replications change, on counterexamples, and on tests that are exploratory or without real text.
    """
    sentences = [*headline.unasked, *map(str, headline.gone), *_other_tries(headline)]
    if headline.universal:
        sentences.append("One counterexample refutes a claim without exceptions.")
        places = "; ".join(headline.where(SUPPORTED))
        sentences += [f"It holds here: {places}."] * bool(places)
    if headline.exploratory:
        sentences.append("All verdicts that count are exploratory, so they do not decide it.")
    if headline.artificial:
        sentences.append("Only artificial languages were tested, not real text.")
        sentences += [f"They do not decide it: {headline.real_text}"] * bool(headline.real_text)
    return [*dict.fromkeys(sentences)]


def _other_tries(headline: Headline) -> Iterator[str]:
    """Yield a sentence for each verdict that other tests of the same setting, such as a replication
    with new seeds, change.
    """
    for finding, word in zip(headline.deciding, headline.verdicts, strict=True):
        if finding.verdict != word:
            yield (
                f"With the other tests of its setting (another study or fresh seeds), the verdict "
                f"of {finding.experiment} ({_word(finding.verdict)}) counts as {_word(word)}."
            )


def lines(
    entries: Iterable[Entry],
    width: int | None = None,
    *,
    whole: bool = True,
    words: Sequence[str] = (),
) -> Iterator[Text]:
    """Yield a heading for each group, a line for each claim and a line for each of its verdicts.

    Args:
        entries: the claims with their verdicts.
        width: number of characters after which lines are wrapped; None to wrap no line.
        whole: whether to list verdicts that do not affect the headline, instead of counting them.
        words: words of a search; verdicts on sentences with these words are always listed.
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
            for text in _below(entry, entry.findings if whole else entry.matching(words)):
                yield Text(_folded(INDENT + text, width), style="dim")


def _folded(text: str, width: int | None) -> str:
    """Return a text without line breaks, wrapped to a width."""
    text = " ".join(text.splitlines())
    if width is None:
        return text
    return textwrap.fill(
        text, width, subsequent_indent=2 * INDENT, break_long_words=False, break_on_hyphens=False
    )


def _below(entry: Entry, wanted: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of text that are printed below a claim: why it is not testable, in which
    settings it was decided, the verdicts, and the headlines that follow from the user's experiments
    alone or sweeps alone.

    Args:
        entry: the claim with its verdicts.
        wanted: verdicts that are listed, even if they do not affect the headline.
    """
    if entry.standing:
        yield entry.standing.why
    yield from bounds(entry.headline)
    deciding = entry.headline.deciding
    yield from (_line(entry, finding) for finding in deciding)
    rest = [finding for finding in entry.findings if finding not in deciding]
    if shown := [finding for finding in rest if finding in wanted]:
        yield "These verdicts do not decide the claim:"
        yield from (INDENT + _line(entry, finding) for finding in shown)
    if counts := Counter(_word(finding.verdict) for finding in rest if finding not in wanted):
        verdicts = listed([f"{number} {verdict}" for verdict, number in counts.items()])
        yield f"Verdicts that do not decide it (--all lists them): {verdicts}."
    yield from (f"{origin}: {marked(other)}" for origin, other in entry.beside.items())


def _line(entry: Entry, finding: Finding) -> str:
    """Return a line of text for a verdict: its answer, the sentence that the experiment tested (if
    it is not the sentence of the claim), the experiment, the corpus, the budget, and reasons to
    doubt the verdict.
    """
    verdict = ", ".join(filter(None, (_word(finding.verdict), finding.grade)))
    asked = finding.statement.rstrip(".")
    key = finding.experiment, finding.statement, finding.budget
    again = [(f.experiment, f.statement, f.budget) for f in entry.findings].count(key) > 1
    parts = [finding.reading if again else "", finding.experiment]
    if finding.trained:
        corpora = listed([option_label("data", corpus) for corpus in finding.data])
        parts += [corpora, finding.budget]
    parts += ["exploratory"] if finding.exploratory else []
    parts += ["no document asks this"] if finding.remark else []
    parts += [f"fresh seeds: {finding.again['replication']}"] if finding.again else []
    if finding.ledger_wide == INCONCLUSIVE != finding.verdict:
        parts += ["undecided if corrected for all claims of the ledger"]
    start = "" if finding.origin == COMMITTED else f"{finding.origin}: "
    sentence = "" if asked == entry.claim.statement.rstrip(".") else f"{asked} "
    return f"{start}{verdict}: {sentence}({', '.join(filter(None, parts))})"


def _word(verdict: str) -> str:
    return UNDECIDED if verdict == INCONCLUSIVE else verdict


def totals(entries: list[Entry], every: list[Entry]) -> str:
    """Return a line with the numbers of shown claims that are supported, refuted, mixed and so on.

    Args:
        entries: the claims that are shown.
        every: all claims of the ledger.
    """
    counts = count(entries)
    shown, all_claims = sum(counts.values()), sum(count(every).values())
    amount = str(shown) if shown == all_claims else f"{shown} of {all_claims}"
    states = ", ".join(f"{number} {state}" for state, number in counts.items())
    outside = f"; {len(entries) - shown} outside the ledger" if len(entries) > shown else ""
    return f"{amount} claim{'s' * (all_claims != 1)}: {states}{outside}"


def summary(entries: list[Entry]) -> Iterator[str]:
    """Yield the lines of a summary of all claims, each of at most 80 characters."""
    counts = count(entries)
    yield f"{counted(sum(counts.values()), 'claim')}, by what experiments say of them:"
    for state in HEADLINES:
        yield f"  {MARKS[state].letter} {state:16}{counts[state]:4}"
    yield ""
    yield from textwrap.wrap(" ".join(_notes(entries)), WIDTH, break_on_hyphens=False)
    yield EXAMPLES


def _notes(entries: list[Entry]) -> Iterator[str]:
    """Yield sentences for the summary: on claims that the catalogue does not list, on missing
    evidence, on the correction for multiple tests, and on the user's verdicts.
    """
    findings = [finding for entry in entries for finding in entry.findings]
    if outside := sum(entry.outside for entry in entries):
        yield f"Experiments test {counted(outside, 'claim')} that the catalogue does not list."
    yield from dict.fromkeys(str(entry.gone[0]) for entry in entries if entry.gone)
    committed = [finding for finding in findings if finding.origin == COMMITTED]
    tested = [finding for finding in committed or findings if finding.p]
    if decided := [finding for finding in tested if finding.verdict != INCONCLUSIVE]:
        remaining = sum(finding.ledger_wide == finding.verdict for finding in decided)
        yield (
            f"With a correction for testing all {len(tested)} statistical claims at once, "
            f"{remaining} of {len(decided)} verdicts remain (Holm)."
        )
    if by_user := [finding for finding in findings if finding.origin != COMMITTED]:
        claims = len({finding.claim for finding in by_user})
        yield f"Your own: {counted(len(by_user), 'verdict')} on {counted(claims, 'claim')}."
