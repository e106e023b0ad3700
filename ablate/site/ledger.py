"""The first page: the ledger, with what its filters offer."""

from collections.abc import Callable
from itertools import groupby

from ablate.ledger.claims import KINDS
from ablate.ledger.entries import FILTERS, Entry, count, titles
from ablate.ledger.family import changes
from ablate.ledger.headline import HEADLINES
from ablate.ledger.places import COMMITTED
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
        "bounded": changes(one for e in entries for one in e.findings if one.origin == COMMITTED),
        "filters": filters,
        "choices": _choices(entries, filters),
        "states": HEADLINES,
        "turns": {entry.claim.id: _turns(entry, site) for entry in entries},
    }


def _turns(entry: Entry, site: Site) -> str:
    """The states of a claim by a factor on all margins, for a script: "0:supported|2.1:mixed"."""
    return "|".join(f"{turn.factor:.6g}:{turn.word}" for turn in turns(entry, site))


def decided(entry: Entry, site: Site) -> list[tuple[str, str, list[str]]]:
    """The experiments behind a claim: page, name and data, and the verdicts there."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in entry.findings:
        place = f"{one.experiment}, {one.data}" + (", exploratory" if one.exploratory else "")
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
