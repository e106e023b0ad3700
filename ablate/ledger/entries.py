"""Join claims with their verdicts, and select claims by filters."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path

from ablate.config.smoke import SMOKE
from ablate.errors import UserError
from ablate.ledger.claims import (
    Claim,
    NotTestableReason,
    read_claims,
    read_documents,
    read_real_text,
    read_standings,
    read_unasked,
)
from ablate.ledger.headline import HEADLINES, NOT_TESTABLE, Headline, headline
from ablate.ledger.places import COMMITTED, KEPT, ORIGINS, SWEEP, Gone, missing_evidence
from ablate.ledger.verdicts import Finding, collect, latest, with_family

TESTED = "tested"
OUTSIDE = "Outside the ledger"
YOURS = "Your claims"
# former words, which filters still accept for one release
FORMER = {"inconclusive": "undecided", "depends": "mixed", "no run decides": NOT_TESTABLE}
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
            beside = self._of(COMMITTED)
            return Headline(NOT_TESTABLE, self.standing.standing, beside=beside)
        return self._headline(self.origin)

    @property
    def origin(self) -> str:
        """The origin of the verdicts from which `headline` follows, one of `ORIGINS`: "committed"
        for verdicts that are published with the project, "your experiment" or "your sweep".

        The value is "" if no verdict decides the claim.
        """
        if self.standing or not (self.findings or self.gone):
            return ""
        return min(self._origins, key=ORIGINS.index)

    @property
    def by_user(self) -> bool:
        """Whether `headline` follows from the user's verdicts instead of the verdicts that are
        published with the project.
        """
        return self.origin in ONLY["own"]

    @property
    def beside(self) -> dict[str, Headline]:
        """Further headlines of the claim, by origin: the word that follows from the verdicts of the
        user's experiments alone, and from the user's sweeps alone.

        The origin from which `headline` follows is left out.
        """
        other_origins = self._origins - {self.origin, COMMITTED}
        return {origin: self._headline(origin) for origin in ORIGINS if origin in other_origins}

    @property
    def _origins(self) -> set[str]:
        return {finding.origin for finding in self.findings} | {lost.origin for lost in self.gone}

    def _headline(self, origin: str) -> Headline:
        gone = [missing for missing in self.gone if missing.origin == origin]
        real_text = read_real_text().get(self.claim.id, "")
        findings = self._of(origin)
        unasked = missing_readings(self.claim.id, findings)
        return headline(self.claim.statement, findings, gone, real_text, unasked)

    def _of(self, origin: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.origin == origin)

    @property
    def verdict(self) -> str:
        """The word that combines all verdicts on the claim, such as "supported" or "mixed"."""
        return self.headline.word

    @property
    def smoke(self) -> bool:
        """Whether `headline` follows from a smoke test, which decides nothing."""
        return any(finding.scale == SMOKE for finding in self.headline.deciding)

    @property
    def differs(self) -> bool:
        """Whether the verdicts from which `headline` follows differ between experiments or
        settings.
        """
        return len({finding.verdict for finding in self.headline.deciding}) > 1

    @property
    def outside(self) -> bool:
        """Whether no document makes the claim, because an experiment added it."""
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
        claims: the claims of the documents.
        verdicts: the verdicts on each claim, by its id.
        gone: missing evidence.
    """
    claim_ids, standings = {claim.id for claim in claims}, read_standings()
    lost: dict[str, list[Gone]] = {}
    for missing_item in gone:
        lost.setdefault(missing_item.claim, []).append(missing_item)

    def entry(claim: Claim) -> Entry:
        findings, missing = verdicts.get(claim.id, ()), lost.get(claim.id, ())
        return Entry(claim, tuple(findings), standings.get(claim.id), tuple(missing))

    entries = [entry(claim) for claim in claims]
    unlisted = [findings[0] for name, findings in verdicts.items() if name not in claim_ids]
    strangers = [entry(_unlisted_claim(finding)) for finding in unlisted]
    return sorted([*entries, *strangers], key=lambda entry: entry.claim.group != YOURS)


def count(entries: Iterable[Entry]) -> dict[str, int]:
    """Return how many claims of documents have each headline.

    A headline is the word that combines all verdicts on a claim, such as "supported". Claims that
    only an experiment makes are left out.
    """
    counted = Counter(entry.verdict for entry in entries if not entry.outside)
    return {word: counted[word] for word in HEADLINES}


def missing_readings(claim: str, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return a sentence for each reading that is needed to decide a claim but has no verdict.

    An exploratory verdict on such a reading does not suffice.

    Args:
        claim: id of the claim.
        findings: the verdicts on the claim.
    """
    asked = {finding.reading for finding in findings if not finding.exploratory}
    readings = read_unasked().get(claim, {})
    return tuple(sentence for reading, sentence in readings.items() if reading not in asked)


def _unlisted_claim(finding: Finding) -> Claim:
    return Claim(
        id=finding.claim,
        statement=finding.statement,
        document=finding.source or f"experiment {finding.experiment}",
        section="",
        also_in="",
        kind="exact" if finding.kind == "exact" else "empirical",
        factors="",
        metric="",
        group=OUTSIDE if finding.origin == COMMITTED else YOURS,
    )


@cache
def titles() -> tuple[str, ...]:
    """Return the titles of the documents (the texts about the Transformer whose claims are tested),
    in the order of the file documents.csv.
    """
    return tuple(document.title for document in read_documents())


def _documents(entry: Entry) -> list[str]:
    claim = entry.claim
    return [claim.document, *(title for title in titles() if title in claim.also_in)]


def _states(entry: Entry) -> list[str]:
    return [entry.verdict, TESTED] if entry.findings else [entry.verdict]


# The names that each filter searches; a value matches the names that contain it.
FILTERS: dict[str, Callable[[Entry], list[str]]] = {
    "document": _documents,
    "factor": lambda entry: entry.claim.factor_names,
    "state": _states,
    "verdict": _states,
    "group": lambda entry: [entry.claim.group],
    "kind": lambda entry: [entry.claim.kind],
    "experiment": lambda entry: [finding.experiment for finding in entry.findings],
}


def pick(entries: list[Entry], wanted: dict[str, str], words: Iterable[str] = ()) -> list[Entry]:
    """Return the claims that match all filters and contain all words, ignoring case.

    Args:
        entries: the whole ledger.
        wanted: a value for each filter, a key of `FILTERS` such as "document".
        words: words that the text of the claim or of its verdicts must contain.

    Raises:
        UserError: a value matches no claim of the whole ledger.
    """
    chosen = entries
    for key, value in wanted.items():
        names = _matching(key, value, entries)
        chosen = [entry for entry in chosen if names & set(FILTERS[key](entry))]
    for word in words:
        chosen = [entry for entry in chosen if word.lower() in _text(entry)]
    return chosen


def _matching(key: str, value: str, entries: list[Entry]) -> set[str]:
    """Return the names, such as titles of documents, that a filter selects.

    These are all names that contain `value`, ignoring case and punctuation. If a name equals
    `value`, only this name is returned.

    Args:
        key: the filter, a key of `FILTERS`; "document" searches the titles of the documents.
        value: the whole name or a part of the name.
        entries: the whole ledger.

    Raises:
        UserError: no name contains `value`.
    """
    names = {name for entry in entries for name in FILTERS[key](entry)}
    names |= {*HEADLINES, TESTED} if FILTERS[key] is _states else set()
    value = FORMER.get(value, value) if FILTERS[key] is _states else value
    plain = {name: _plain(name) for name in names}
    asked = _plain(re.split(r"[./]", value)[-1] if key == "factor" else value)
    exact = {name for name in names if plain[name] == asked}
    matches = exact or {name for name in names if asked in plain[name]}
    if matches:
        return matches
    near = difflib.get_close_matches(asked, plain.values(), n=1, cutoff=0.5)
    hint = f"did you mean {next(n for n in names if plain[n] == near[0])}? " if near else ""
    rest = f"allowed is {', '.join(sorted(names))}" if 0 < len(names) <= 12 else ""
    raise UserError(f"{key}={value} matches no claim; {hint}{rest}".rstrip("; "))


def _plain(name: str) -> str:
    return re.sub(r"[_\W]+", " ", name.lower()).strip()


def _text(entry: Entry) -> str:
    texts = [*astuple(entry.claim), *(finding.statement for finding in entry.findings)]
    texts += astuple(entry.standing) if entry.standing else ()
    return "\n".join(texts).lower()
