"""The first page: the ledger, with what its filters offer."""

from collections import Counter
from collections.abc import Callable
from itertools import groupby

from ablate.ledger.claims import KINDS
from ablate.ledger.entries import FILTERS, Entry, count, titles
from ablate.ledger.family import changes
from ablate.ledger.headline import HEADLINES
from ablate.ledger.places import COMMITTED
from ablate.site.cards import cards, questions
from ablate.site.documents import shown
from ablate.site.model import Site
from ablate.site.scaled import turns

Filters = dict[str, Callable[[Entry], list[str]]]
SHOWN = ("document", "factor", "verdict", "group", "kind")


def whole(site: Site) -> dict[str, object]:
    """What the page shows."""
    entries = site.entries
    filters = {key: FILTERS[key] for key in SHOWN}
    if any(entry.by_user or entry.beside for entry in entries):
        filters["evidence"] = lambda entry: [*dict.fromkeys(f.origin for f in entry.findings)]
    return {
        "groups": [
            (name, list(found)) for name, found in groupby(entries, lambda e: e.claim.group)
        ],
        "claims": sum(not entry.outside for entry in entries),
        "texts": len(shown(site)),
        "outside": sum(entry.outside for entry in entries),
        "counts": count(entries),
        "filters": filters,
        "choices": _choices(entries, filters),
        "states": HEADLINES,
        "cards": cards(site),
        "questions": questions(site),
        **sure(site),
        "turns": {entry.claim.id: _turns(entry, site) for entry in entries},
    }


def sure(site: Site) -> dict[str, object]:
    """How far all answers can be trusted: the counts that a page states."""
    committed = [f for entry in site.entries for f in entry.findings if f.origin == COMMITTED]
    decided = [entry for entry in site.entries if entry.headline.deciding and not entry.outside]
    sizes = [source.largest for source in site.sources.values()]
    return {
        "largest": max(sizes, default=0),
        "bounded": changes(committed),
        "again": Counter(f.again["replication"] for f in committed if f.again),
        "asked": len(decided),
        "artificial": sum(entry.headline.artificial for entry in decided),
    }


def _turns(entry: Entry, site: Site) -> str:
    """The states of a claim by a factor on all margins, for a script: "0:supported|2.1:mixed"."""
    return "|".join(f"{turn.factor:.6g}:{turn.word}" for turn in turns(entry, site))


def decided(entry: Entry, site: Site) -> list[tuple[str, str, list[str]]]:
    """The experiments behind a claim: page, title and data, and the verdicts there."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in entry.findings:
        source = site.sources[one.report.parent]
        parts = [source.title, *source.corpora, "exploratory" if one.exploratory else ""]
        place = ", ".join(part for part in parts if part)
        place += f", {one.origin}" if one.origin != COMMITTED else ""
        found.setdefault((site.experiments[one.report.parent], place), []).append(one.verdict)
    return [(page, place, words) for (page, place), words in found.items()]


def _choices(entries: list[Entry], filters: Filters) -> dict[str, list[str]]:
    """What can be picked: names in the order of the ledger, factors by the alphabet."""
    found = {
        key: list(dict.fromkeys(name for entry in entries for name in read(entry)))
        for key, read in filters.items()
        if key != "verdict"
    }
    return {**found, "factor": sorted(found["factor"]), "kind": [*KINDS], "document": [*titles()]}
