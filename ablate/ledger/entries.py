"""The ledger itself: claims joined with their verdicts, and what is picked out of it."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from ablate.config.smoke import SMOKE
from ablate.errors import UserError
from ablate.ledger.claims import Claim, read_claims, read_documents
from ablate.ledger.family import with_family
from ablate.ledger.standings import Standing, read_standings
from ablate.ledger.state import DEPENDS, State, state
from ablate.ledger.verdicts import VERDICTS, Finding, collect, latest

NOT_TESTED = "not tested"
TESTED = "tested"
OUTSIDE = "Outside the ledger"
NO_RUN = "no run decides"
STATES = (*VERDICTS, DEPENDS, NO_RUN, NOT_TESTED)


@dataclass(frozen=True)
class Entry:
    """A claim, its verdicts in every regime, and its standing where no run decides it."""

    claim: Claim
    findings: tuple[Finding, ...] = ()
    standing: Standing | None = None

    @property
    def state(self) -> State:
        """What all verdicts come to; without any, whether a run could give one."""
        if self.findings:
            return state(self.findings)
        return State(NO_RUN, self.standing.standing) if self.standing else State(NOT_TESTED)

    @property
    def verdict(self) -> str:
        """The word of the state."""
        return self.state.word

    @property
    def smoke(self) -> bool:
        """Whether the experiment was only seen to run, at the scale for tests."""
        return bool(self.findings) and self.findings[0].scale == SMOKE

    @property
    def differs(self) -> bool:
        """Whether experiments or regimes have different verdicts."""
        return len({one.verdict for one in self.findings if not one.replaced}) > 1

    @property
    def outside(self) -> bool:
        """Whether no document makes the claim: an experiment added it."""
        return self.claim.group == OUTSIDE


def read_entries(experiments: Path, results: Path) -> tuple[list[Entry], list[str]]:
    """The whole ledger with every verdict that there is, and a warning per damaged file."""
    found, warnings = collect(experiments, results)
    if not (experiments.is_dir() or results.is_dir()):
        # a ledger without a verdict looks like one that nobody has worked on
        warnings.append(
            f"no folder {experiments} or {results} is here, so no claim has a verdict: "
            "say experiments=FOLDER"
        )
    return join(read_claims(), with_family(latest(found))), warnings


def join(claims: list[Claim], verdicts: dict[str, list[Finding]]) -> list[Entry]:
    """One entry per claim, then one per claim that only an experiment knows."""
    known, standings = {claim.id for claim in claims}, read_standings()
    entries = [
        Entry(claim, tuple(verdicts.get(claim.id, ())), standings.get(claim.id)) for claim in claims
    ]
    others = {name: found for name, found in verdicts.items() if name not in known}
    return entries + [Entry(_stranger(found[0]), tuple(found)) for found in others.values()]


def count(entries: Iterable[Entry]) -> dict[str, int]:
    """How many claims of the documents have which verdict."""
    counted = Counter(entry.verdict for entry in entries if not entry.outside)
    return {state: counted[state] for state in STATES}


def _stranger(finding: Finding) -> Claim:
    return Claim(
        id=finding.claim,
        statement=finding.statement,
        document=finding.source or f"experiment {finding.experiment}",
        section="",
        also_in="",
        kind="exact" if finding.kind == "exact" else "empirical",
        factors="",
        metric="",
        group=OUTSIDE,
    )


@cache
def titles() -> tuple[str, ...]:
    """Of the documents, in the order in which they were read."""
    return tuple(document.title for document in read_documents())


def _documents(entry: Entry) -> list[str]:
    claim = entry.claim
    return [claim.document, *(title for title in titles() if title in claim.also_in)]


def _states(entry: Entry) -> list[str]:
    return [entry.verdict, TESTED] if entry.findings else [entry.verdict]


# What each filter looks at; a value picks the names that contain it.
FILTERS: dict[str, Callable[[Entry], list[str]]] = {
    "document": _documents,
    "factor": lambda entry: entry.claim.factor_names,
    "verdict": _states,
    "group": lambda entry: [entry.claim.group],
    "kind": lambda entry: [entry.claim.kind],
}


def pick(entries: list[Entry], wanted: dict[str, str], text: str = "") -> list[Entry]:
    """The entries that meet all filters and contain the text, whatever its case.

    Raises:
        UserError: no entry at all has such a name.
    """
    chosen = entries
    for key, value in wanted.items():
        names = _matching(key, value, entries)
        chosen = [entry for entry in chosen if names & set(FILTERS[key](entry))]
    return [entry for entry in chosen if text.lower() in _text(entry)]


def _matching(key: str, value: str, entries: list[Entry]) -> set[str]:
    """The names that contain a value; a name that is the value stands for itself alone."""
    names = {name for entry in entries for name in FILTERS[key](entry)}
    names |= {*STATES, TESTED} if key == "verdict" else set()
    plain = {name: _plain(name) for name in names}
    asked = _plain(re.split(r"[./]", value)[-1] if key == "factor" else value)
    exact = {name for name in names if plain[name] == asked}
    found = exact or {name for name in names if asked in plain[name]}
    if found:
        return found
    near = difflib.get_close_matches(asked, plain.values(), n=1, cutoff=0.5)
    hint = f"did you mean {next(n for n in names if plain[n] == near[0])}? " if near else ""
    rest = f"allowed is {', '.join(sorted(names))}" if len(names) <= 12 else ""
    raise UserError(f"{key}={value}: no claim has it; {hint}{rest}".rstrip("; "))


def _plain(name: str) -> str:
    return re.sub(r"[_\W]+", " ", name.lower()).strip()


def _text(entry: Entry) -> str:
    said = [*astuple(entry.claim), *(finding.sentence for finding in entry.findings)]
    said += astuple(entry.standing) if entry.standing else ()
    return "\n".join(said).lower()
