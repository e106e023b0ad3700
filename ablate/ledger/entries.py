"""Join the claims of a catalogue with their verdicts, and select claims by words and filters."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path

from ablate.errors import UserError
from ablate.ledger.claims import (
    Claim,
    NotTestableReason,
    read_claims,
    read_notes,
    read_standings,
)
from ablate.ledger.headline import HEADLINES, NOT_TESTABLE, Headline, headline
from ablate.ledger.verdicts import Finding, collect, missing_evidence

TESTED = "tested"
OUTSIDE = "Outside the ledger"


@dataclass(frozen=True)
class Entry:
    """A claim of the ledger, with its verdicts in every setting.

    `standing` is the reason why no run can decide the claim, if there is one. `gone` has a sentence
    for each experiment whose evidence on the claim is missing.
    """

    claim: Claim
    findings: tuple[Finding, ...] = ()
    standing: NotTestableReason | None = None
    gone: tuple[str, ...] = ()

    @cached_property
    def headline(self) -> Headline:
        """The word that combines all verdicts on the claim, such as "supported" or "mixed", with
        its reasons.
        """
        if self.standing:
            return Headline(NOT_TESTABLE, self.standing.standing, beside=self.findings)
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

    def lacking(self, words: Sequence[str]) -> list[str]:
        """Return the words that do not occur in the claim itself, ignoring case."""
        text = "\n".join(map(str, astuple(self.claim))).lower()
        return [word for word in words if word.lower() not in text]

    def matching(self, words: Sequence[str]) -> list[Finding]:
        """Return the verdicts on sentences that have all words which the claim lacks; if it lacks
        none, those on sentences that have all words.
        """
        wanted = [word.lower() for word in self.lacking(words) or words]
        texts = ((finding, finding.statement.lower()) for finding in self.findings)
        return [each for each, text in texts if wanted and all(word in text for word in wanted)]

    @property
    def outside(self) -> bool:
        """Whether the catalogue does not list the claim, because an experiment added it."""
        return self.claim.group == OUTSIDE


def read_entries(folder: Path | None) -> tuple[list[Entry], list[str]]:
    """Return all claims of the catalogue, and those that only its experiments make, with their
    verdicts, and a warning for each damaged file.

    Args:
        folder: the folder with the experiments of the catalogue; None without a catalogue.
    """
    findings, warnings = collect(folder) if folder else ({}, [])
    gone: dict[str, list[str]] = {}
    try:
        gone = missing_evidence(folder) if folder else {}
    except UserError as error:
        warnings.append(str(error))
    listed = {claim.id: claim for claim in read_claims()}
    unlisted = {name: _unlisted(each[0]) for name, each in findings.items() if name not in listed}
    claims = listed | unlisted
    entries = [
        Entry(claim, (*findings.get(name, ()),), read_standings().get(name), (*gone.get(name, ()),))
        for name, claim in claims.items()
    ]
    return entries, [*warnings, *(f"{x}: {why[0]}" for x, why in gone.items() if x not in claims)]


def _unlisted(finding: Finding) -> Claim:
    return Claim(
        id=finding.claim,
        statement=finding.statement,
        document=finding.source or f"experiment {finding.experiment}",
        kind="exact" if finding.kind == "exact" else "empirical",
        group=OUTSIDE,
    )


def count(entries: Iterable[Entry]) -> dict[str, int]:
    """Return how many claims of the catalogue have each headline, the word that combines all
    verdicts on a claim, such as "supported".
    """
    counted = Counter(entry.verdict for entry in entries if not entry.outside)
    return {word: counted[word] for word in HEADLINES}


# The texts that each filter searches.
FILTERS: dict[str, Callable[[Entry], list[str]]] = {
    "document": lambda entry: entry.claim.documents,
    "state": lambda entry: [entry.verdict, TESTED] if entry.findings else [entry.verdict],
    "experiment": lambda entry: [finding.experiment for finding in entry.findings],
}


def pick(entries: list[Entry], wanted: dict[str, str], words: Sequence[str] = ()) -> list[Entry]:
    """Return the claims that match all filters and contain all words, ignoring case.

    Args:
        entries: the whole ledger.
        wanted: a value for each filter, a key of `FILTERS`: the state itself, or a part of the
            title of a document or of the name of an experiment.
        words: words that the claim, or the sentence that an experiment tested, must contain, in
            any order.
    """

    def matches(entry: Entry) -> bool:
        texts = ((key, value, FILTERS[key](entry)) for key, value in wanted.items())
        fits = (
            value in searched if key == "state" else value.lower() in "\n".join(searched).lower()
            for key, value, searched in texts
        )
        return all(fits) and (not entry.lacking(words) or bool(entry.matching(words)))

    return [entry for entry in entries if matches(entry)]
