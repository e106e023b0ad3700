"""Prepare the first page of the web site that shows the verdicts: the list of all claims, with
filters.
"""

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from ablate.ledger.claims import KINDS
from ablate.ledger.entries import FILTERS, Entry, count, titles
from ablate.ledger.family import changes
from ablate.ledger.headline import HEADLINES
from ablate.ledger.places import COMMITTED
from ablate.ledger.verdicts import Finding
from ablate.site.cards import cards, questions
from ablate.site.documents import shown
from ablate.site.model import Site
from ablate.site.scaled import turns

Filters = dict[str, Callable[[Entry], list[str]]]
SHOWN = ("document", "factor", "verdict", "group", "kind")


def whole(site: Site) -> dict[str, object]:
    """Return the variables of the HTML template for the first page of the site, which lists all
    claims with filters.
    """
    entries = site.entries
    filters = {key: FILTERS[key] for key in SHOWN}
    if any(entry.by_user or entry.beside for entry in entries):
        filters["evidence"] = lambda entry: [*dict.fromkeys(f.origin for f in entry.findings)]
    return {
        "groups": [
            (name, list(members)) for name, members in groupby(entries, lambda e: e.claim.group)
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
    """Return numbers that show how far the verdicts on the site can be trusted.

    Returns:
        largest: number of parameters of the largest trained model.
        bounded: how a correction for multiple tests changes the committed verdicts.
        again: number of replicated committed verdicts, by the result of the replication.
        asked: number of claims of documents on which at least one verdict counts.
        artificial: number of these claims whose models were trained on artificial languages only.
    """
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
    """Return the headlines (words that combine all verdicts) that a claim would have if all margins
    were multiplied by a factor.

    The text is for a script: "0:supported|2.1:mixed" means mixed from factor 2.1 on.
    """
    return "|".join(f"{turn.factor:.6g}:{turn.word}" for turn in turns(entry, site))


class Listed(NamedTuple):
    """The experiments of a claim: those that the first page names, and the number of the rest.

    `named` has for each experiment the path of its page, its title with its corpora, and its
    verdicts on the claim.
    """

    named: list[tuple[str, str, list[str]]]
    rest: int


def experiments(entry: Entry, site: Site) -> Listed:
    """Return the experiments that decide a claim (all, if none decides), and the user's own."""
    deciding = entry.headline.deciding or entry.findings
    verdicts: dict[tuple[str, str], list[str]] = {}
    pages = set()
    for finding in entry.findings:
        page = site.experiments[finding.report.parent]
        pages.add(page)
        if finding in deciding or finding.origin != COMMITTED:
            verdicts.setdefault((page, _place(finding, site)), []).append(finding.verdict)
    named = [(page, place, words) for (page, place), words in verdicts.items()]
    return Listed(named, len(pages - {page for page, _ in verdicts}))


def _place(finding: Finding, site: Site) -> str:
    """Return the title of the experiment of a verdict, with its corpora."""
    source = site.sources[finding.report.parent]
    parts = [source.title, *source.corpora, "exploratory" if finding.exploratory else ""]
    parts += [finding.origin] if finding.origin != COMMITTED else []
    return ", ".join(part for part in parts if part)


def _choices(entries: list[Entry], filters: Filters) -> dict[str, list[str]]:
    """Return the values that each filter of the table of claims offers, except the filter of
    verdicts.

    Factors are sorted. Kinds and documents have the order of the ledger's files. The values of
    other filters have the order in which they first occur in the claims.
    """
    by_filter = {
        key: list(dict.fromkeys(name for entry in entries for name in read(entry)))
        for key, read in filters.items()
        if key != "verdict"
    }
    return {
        **by_filter,
        "factor": sorted(by_filter["factor"]),
        "kind": [*KINDS],
        "document": [*titles()],
    }
