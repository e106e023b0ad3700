"""Join claims with their verdicts, and select claims by words and filters."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from pathlib import Path

from ablate.ledger.claims import (
    Claim,
    NotTestableReason,
    read_claims,
    read_notes,
    read_standings,
)
from ablate.ledger.headline import HEADLINES, NOT_TESTABLE, Headline, headline
from ablate.ledger.places import COMMITTED, KEPT, ORIGINS, SWEEP, Gone, missing_evidence
from ablate.ledger.verdicts import Finding, collect, latest, with_family

TESTED = "tested"
OUTSIDE = "Outside the ledger"
YOURS = "Your claims"
# The values of `only=` with the origins that they show; "own" means the user's verdicts.
ONLY = {"own": (KEPT, SWEEP), "committed": (COMMITTED,)}


@dataclass(frozen=True)
class Entry:
    """A claim of the ledger, with its verdicts in every setting.

    `gone` has evidence on the claim that is missing. `standing` is the reason why no run can decide
    the claim, if there is one.
    """

    claim: Claim
    findings: tuple[Finding, ...] = ()
    standing: NotTestableReason | None = None
    gone: tuple[Gone, ...] = ()

    @property
    def headline(self) -> Headline:
        """The word that combines all verdicts on the claim, such as "supported" or "mixed", with
        its reasons.

        Committed verdicts decide, that is, verdicts that are published with the project. If there
        are none, the user's verdicts decide.
        """
        if self.standing:
            committed = tuple(each for each in self.findings if each.origin == COMMITTED)
            return Headline(NOT_TESTABLE, self.standing.standing, beside=committed)
        return self._headlines[self.origin]

    @property
    def origin(self) -> str:
        """The origin of the verdicts from which `headline` follows, one of `ORIGINS`; "" if no
        verdict decides the claim.
        """
        return "" if self.standing else next(iter(self._headlines))

    @property
    def by_user(self) -> bool:
        """Whether `headline` follows from the user's verdicts instead of the verdicts that are
        published with the project.
        """
        return self.origin in ONLY["own"]

    @property
    def beside(self) -> dict[str, Headline]:
        """The headlines that follow from the user's experiments alone, and from the user's sweeps
        alone, by origin, without the origin of `headline`.
        """
        origins = self._headlines.keys() - {"", self.origin, COMMITTED}
        return {origin: self._headlines[origin] for origin in ORIGINS if origin in origins}

    @cached_property
    def _headlines(self) -> dict[str, Headline]:
        """The headline that follows from the verdicts of each origin; one for "" without any."""
        origins = {finding.origin for finding in self.findings}
        origins |= {missing.origin for missing in self.gone}
        ordered = sorted(origins or {""}, key=["", *ORIGINS].index)
        return {origin: self._headline(origin) for origin in ordered}

    def _headline(self, origin: str) -> Headline:
        findings = [finding for finding in self.findings if finding.origin == origin]
        judged = {finding.reading for finding in findings if not finding.exploratory}
        unasked = read_notes("unasked").get(self.claim.id, {})
        return headline(
            findings,
            [missing for missing in self.gone if missing.origin == origin],
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
        return self.claim.group in (OUTSIDE, YOURS)


def read_entries(
    experiments: Path | None, results: Path, only: str = ""
) -> tuple[list[Entry], list[str]]:
    """Return all claims with their verdicts, and a warning for each damaged file.

    Args:
        experiments: folder with evidence; None for the catalogue and the user's folder.
        results: folder of all results, with the user's sweeps.
        only: "own" for verdicts of the user alone, and claims with such verdicts; "committed" for
            committed verdicts alone; "" for all.
    """
    findings, warnings = collect(experiments, results)
    gone, damaged = missing_evidence(experiments, results)
    origins = ONLY.get(only, ORIGINS)
    wanted = [item for item in findings if item.origin in origins]
    lost = [item for item in gone if item.origin in origins]
    entries = join(read_claims(), with_family(latest(wanted)), lost)
    claim_ids = {entry.claim.id for entry in entries}
    warnings += damaged + [
        f"{item.claim}: {item}".removeprefix(": ") for item in gone if item.claim not in claim_ids
    ]
    if only == "own":
        asked = (entry for entry in entries if entry.findings or entry.gone)
        entries = [replace(entry, standing=None) for entry in asked]
    return entries, warnings


def join(
    claims: list[Claim], verdicts: dict[str, list[Finding]], gone: Sequence[Gone] = ()
) -> list[Entry]:
    """Return an entry of the ledger (a claim with its verdicts) for each claim.

    The user's own claims come first. Claims that only committed experiments make come last.

    Args:
        claims: the claims of the catalogue.
        verdicts: the verdicts on each claim, by its id.
        gone: missing evidence.
    """
    claim_ids = {claim.id for claim in claims}
    unlisted = [_unlisted(each[0]) for name, each in verdicts.items() if name not in claim_ids]
    entries = [
        Entry(
            claim,
            tuple(verdicts.get(claim.id, ())),
            read_standings().get(claim.id),
            tuple(missing for missing in gone if missing.claim == claim.id),
        )
        for claim in [*claims, *unlisted]
    ]
    return sorted(entries, key=lambda entry: entry.claim.group != YOURS)


def _unlisted(finding: Finding) -> Claim:
    return Claim(
        id=finding.claim,
        statement=finding.statement,
        document=finding.source or f"experiment {finding.experiment}",
        kind="exact" if finding.kind == "exact" else "empirical",
        group=OUTSIDE if finding.origin == COMMITTED else YOURS,
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
    chosen = [entry for entry in entries if not entry.lacking(words) or entry.matching(words)]
    for key, value in wanted.items():
        texts = FILTERS[key]
        chosen = [
            entry
            for entry in chosen
            if any(value.lower() in text.lower() for text in texts(entry))
            and (key != "state" or value in texts(entry))
        ]
    return chosen
