"""Join the claims of a catalogue with their verdicts, select claims, and write them in words.

A headline combines all verdicts on a claim in a word, such as "supported" or "mixed".
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path

from rich.text import Text

from ablate.config.labels import option_label
from ablate.ledger.headline import HEADLINES, MIXED, NOT_TESTABLE, UNDECIDED, Headline, headline
from ablate.ledger.verdicts import (
    Claim,
    Finding,
    collect,
    missing_evidence,
    read_claims,
    read_notes,
)
from ablate.phrases import listed
from ablate.report.marks import MARKS
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SUPPORTED

TESTED = "tested"
OUTSIDE = "Outside the ledger"
INDENT = "    "


@dataclass(frozen=True)
class Entry:
    """A claim of the ledger, with its verdicts in every setting.

    `standing` is the reason why no run can decide the claim, if there is one. `gone` has a sentence
    for each experiment whose evidence on the claim is missing.
    """

    claim: Claim
    findings: tuple[Finding, ...] = ()
    standing: Mapping[str, str] | None = None
    gone: tuple[str, ...] = ()

    @cached_property
    def headline(self) -> Headline:
        """The word that combines all verdicts on the claim, such as "supported" or "mixed", with
        its reasons.
        """
        if self.standing:
            return Headline(NOT_TESTABLE, self.standing["standing"])
        judged = {finding.reading for finding in self.findings if not finding.exploratory}
        unasked = read_notes("unasked").get(self.claim.id, {})
        return headline(
            self.findings,
            self.gone,
            universal=self.claim.universal,
            real_text=read_notes("real_text").get(self.claim.id, ""),
            unasked=[reason for reading, reason in unasked.items() if reading not in judged],
        )

    @property
    def verdict(self) -> str:
        """The word that combines all verdicts on the claim, such as "supported" or "mixed"."""
        return self.headline.word

    @property
    def text(self) -> str:
        """The claim with its document and factors, and its experiments with their sentences."""
        tested = (f"{finding.experiment} {finding.statement}" for finding in self.findings)
        return "\n".join([*map(str, astuple(self.claim)), *tested]).lower()

    @property
    def outside(self) -> bool:
        """Whether the catalogue does not list the claim, because an experiment added it."""
        return self.claim.group == OUTSIDE


def read_entries(folder: Path | None) -> list[Entry]:
    """Return all claims of the catalogue, and those that only its experiments make, with their
    verdicts.

    Args:
        folder: the folder with the experiments of the catalogue; None without a catalogue.

    Raises:
        UserError: a verdict or the manifest of saved studies is damaged.
    """
    findings, gone = (collect(folder), missing_evidence(folder)) if folder else ({}, {})
    standings, claims = read_notes("standings"), {claim.id: claim for claim in read_claims()}
    for name in (name for name in {**findings, **gone} if name not in claims):
        first = next(iter(findings.get(name, [])), None)
        statement, source = (first.statement, first.source) if first else (name, "")
        claims[name] = Claim(name, statement, source, group=OUTSIDE)
    return [
        Entry(claim, (*findings.get(name, ()),), standings.get(name), (*gone.get(name, ()),))
        for name, claim in claims.items()
    ]


def count(entries: Iterable[Entry]) -> dict[str, int]:
    """Return how many claims of the catalogue have each headline, the word that combines all
    verdicts on a claim, such as "supported".
    """
    counted = Counter(entry.verdict for entry in entries if not entry.outside)
    return {word: counted[word] for word in HEADLINES}


def pick(entries: list[Entry], state: str | None, words: Sequence[str]) -> list[Entry]:
    """Return the claims that contain all words, ignoring case, and have a headline.

    Args:
        entries: the whole ledger.
        state: the headline, or "tested" for claims with any verdict; None for all claims.
        words: words that the claim, its document, or the name of an experiment or a sentence that
            it tested must contain.
    """
    return [
        entry
        for entry in entries
        if state in (None, entry.verdict, TESTED if entry.findings else None)
        and all(word.lower() in entry.text for word in words)
    ]


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
    sentences = [*headline.missing]
    for finding, word in zip(headline.deciding, headline.verdicts, strict=True):
        if finding.verdict != word:
            sentences.append(
                f"With the other tests of its setting (another study or fresh seeds), the verdict "
                f"of {finding.experiment} ({_word(finding.verdict)}) counts as {_word(word)}."
            )
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


def subjects(entries: Iterable[Entry]) -> Iterator[Text]:
    """Yield a line for each group of claims, with the number of claims by headline: "12 supported,
    3 refuted".
    """
    for group, members in by_group(entries).items():
        counted = Counter(entry.verdict for entry in members)
        states = ", ".join(f"{counted[word]} {word}" for word in HEADLINES if counted[word])
        yield Text.assemble((group, "bold"), f": {states}")


def by_group(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the claims of each group, by its name."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.claim.group, []).append(entry)
    return groups


def lines(entries: Iterable[Entry]) -> Iterator[Text]:
    """Yield a heading for each group, a line for each claim and a line for each of its verdicts."""
    for group, members in by_group(entries).items():
        yield Text(f"\n{group}", style="bold underline")
        for entry in members:
            reason = detail(entry.headline)
            state = f"{MARKS[entry.verdict].letter} {entry.verdict}{f': {reason}' * bool(reason)}"
            line = Text(f"{state}  {entry.claim.id}  {entry.claim.statement}")
            if entry.headline.deciding:
                line.stylize(f"bold {MARKS[entry.verdict].colour}", 0, len(state))
            yield line
            yield from (Text(INDENT + text, style="dim") for text in _below(entry))


def _below(entry: Entry) -> Iterator[str]:
    """Yield the lines of text that are printed below a claim: why it is not testable, in which
    settings it was decided, and the verdicts.
    """
    if entry.standing:
        yield entry.standing["why"]
    yield from bounds(entry.headline)
    deciding = entry.headline.deciding
    yield from (_line(entry, finding) for finding in deciding)
    if rest := [finding for finding in entry.findings if finding not in deciding]:
        yield "These verdicts do not decide the claim:"
        yield from (INDENT + _line(entry, finding) for finding in rest)


def _line(entry: Entry, finding: Finding) -> str:
    """Return a line of text for a verdict: its answer with the effect, the sentence that the
    experiment tested (if it is not the sentence of the claim), the meaning of this sentence, the
    report, the corpus, the number of steps, and reasons to doubt the verdict.
    """
    parts = [finding.reading, os.path.relpath(finding.folder / "report.md")]
    if finding.trained:
        corpora = listed([option_label("data", corpus) for corpus in finding.data])
        parts += [corpora, f"{finding.steps_text} steps" if finding.steps else ""]
    parts += ["exploratory"] if finding.exploratory else []
    parts += ["no document asks this"] if finding.remark else []
    parts += [f"fresh seeds: {finding.again['replication']}"] if finding.again else []
    if finding.ledger_wide == INCONCLUSIVE != finding.verdict:
        parts += ["undecided if corrected for all claims of the ledger"]
    verdict = ", ".join(filter(None, (_word(finding.verdict), finding.grade, finding.change)))
    asked = finding.statement.rstrip(".")
    sentence = "" if asked == entry.claim.statement.rstrip(".") else f": {asked}"
    return f"{verdict}{sentence} ({', '.join(filter(None, parts))})"


def _word(verdict: str) -> str:
    return UNDECIDED if verdict == INCONCLUSIVE else verdict


def summary(entries: list[Entry], every: list[Entry]) -> Iterator[str]:
    """Yield sentences on the shown claims. Last is how many are supported, refuted and so on; for
    all claims, missing evidence and the correction for multiple tests come before.

    Args:
        entries: the claims that are shown.
        every: all claims of the ledger.
    """
    tested = [finding for entry in every for finding in entry.findings if finding.p]
    decided = [finding for finding in tested if finding.verdict != INCONCLUSIVE]
    if len(entries) == len(every):
        yield from dict.fromkeys(entry.gone[0] for entry in every if entry.gone)
        remaining = sum(finding.ledger_wide == finding.verdict for finding in decided)
        yield (
            f"With a correction for testing all {len(tested)} statistical claims at once, "
            f"{remaining} of {len(decided)} verdicts remain (Holm)."
        )
    counts = count(entries)
    shown, all_claims = sum(counts.values()), sum(count(every).values())
    amount = str(shown) if shown == all_claims else f"{shown} of {all_claims}"
    states = ", ".join(f"{number} {state}" for state, number in counts.items())
    outside = f"; {len(entries) - shown} outside the ledger" if len(entries) > shown else ""
    yield f"{amount} claim{'s' * (all_claims != 1)}: {states}{outside}"
