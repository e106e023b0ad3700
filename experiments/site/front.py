"""Prepare the first page of the web site that shows the verdicts: the list of all claims with
filters, cards with the most interesting claims, and common questions.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from ablate.ledger.headline import HEADLINES, MIXED
from ablate.ledger.text import OUTSIDE, TESTED, Entry, count
from ablate.ledger.verdicts import Finding
from ablate.verdict.stored import is_exact
from ablate.verdict.types import REFUTED, SUPPORTED
from experiments.site.catalogue import Question, places, read_questions
from experiments.site.model import Site
from experiments.site.view import View, clearest, views
from experiments.site.wording import certainty, changes

COLUMNS: dict[str, Callable[[Entry], list[str]]] = {
    "document": lambda entry: [*places(entry.claim)],
    "factor": lambda entry: [
        factor.partition(":")[0].strip() for factor in entry.claim.factors.split(";") if factor
    ],
    "group": lambda entry: [entry.claim.group],
    "kind": lambda entry: [entry.claim.kind],
}
CARDS = 10  # largest number of cards
# order of cards for equally common sentences: surprises first
DECIDED = (REFUTED, MIXED, SUPPORTED)


def whole(site: Site) -> dict[str, object]:
    """Return the variables of the HTML template for the first page of the site, which lists all
    claims with filters.
    """
    entries = site.entries
    return {
        "groups": [
            (name, list(members)) for name, members in groupby(entries, lambda e: e.claim.group)
        ],
        "claims": len(_in_documents(entries)),
        "outside": len(entries) - len(_in_documents(entries)),
        "counts": count(_in_documents(entries)),
        "filters": {**COLUMNS, "state": _states},
        "choices": _choices(entries),
        "states": HEADLINES,
        "cards": cards(site),
        "questions": questions(site),
        **sure(site),
    }


def _in_documents(entries: Iterable[Entry]) -> list[Entry]:
    """Return the claims that a document makes, without those that only an experiment makes."""
    return [entry for entry in entries if entry.claim.group != OUTSIDE]


def sure(site: Site) -> dict[str, object]:
    """Return numbers that show how far the verdicts on the site can be trusted.

    Returns:
        largest: number of parameters of the largest trained model.
        bounded: how a correction for multiple tests changes the verdicts.
        again: number of replicated verdicts, by the result of the replication.
        asked: number of claims of documents on which at least one verdict counts.
        artificial: number of these claims whose models were trained on artificial languages only.
    """
    findings = [finding for entry in site.entries for finding in entry.findings]
    decided = [entry for entry in _in_documents(site.entries) if entry.headline.deciding]
    sizes = [source.largest for source in site.sources.values()]
    return {
        "largest": max(sizes, default=0),
        "bounded": changes(findings),
        "again": Counter(f.replication["replication"] for f in findings if f.replication),
        "asked": len(decided),
        "artificial": sum(entry.headline.artificial for entry in decided),
    }


def experiments(entry: Entry, site: Site) -> tuple[list[tuple[str, str, list[str]]], int]:
    """Return the experiments that decide a claim (all, if none decides), and the number of its
    other experiments.

    Each experiment has the path of its page, its title with its corpora, and its verdicts on the
    claim.
    """
    verdicts: dict[tuple[str, str], list[str]] = {}
    for finding in entry.headline.deciding or entry.findings:
        page = site.experiments[finding.folder]
        verdicts.setdefault((page, _place(finding, site)), []).append(finding.verdict)
    pages = {site.experiments[finding.folder] for finding in entry.findings}
    named = [(page, place, words) for (page, place), words in verdicts.items()]
    return named, len(pages - {page for page, _ in verdicts})


def _place(finding: Finding, site: Site) -> str:
    """Return the title of the experiment of a verdict, with its corpora."""
    source = site.sources[finding.folder]
    exploratory = ["exploratory"] if finding.answer["exploratory"] else []
    return ", ".join([source.title, *source.corpora, *exploratory])


def _states(entry: Entry) -> list[str]:
    return [entry.verdict, TESTED] if entry.findings else [entry.verdict]


def _choices(entries: list[Entry]) -> dict[str, list[str]]:
    """Return the values that each filter of the table of claims offers, sorted."""
    return {
        key: sorted({name for entry in entries for name in names(entry)})
        for key, names in COLUMNS.items()
    }


@dataclass(frozen=True)
class Card:
    """A claim on the first page of the web site, with a figure of one or two verdicts.

    Args:
        entry: the claim with all of its verdicts.
        mentions: number of sections that make the claim, in all texts whose claims are tested.
        best: the drawn verdicts: one verdict, or for a mixed result a supported and a refuted
            verdict.
    """

    entry: Entry
    mentions: int
    best: list[View]


def cards(site: Site) -> list[Card]:
    """Return cards of the most interesting claims, at most `CARDS`, with no experiment on more than
    one card.

    A claim is interesting if it is made by many sections of the documents (the texts about the
    Transformer whose claims are tested), if runs decided it, and if the runs could have decided it
    the other way (so exact claims are left out).
    """
    entries = [
        entry
        for entry in _in_documents(site.entries)
        if entry.verdict in DECIDED and entry.claim.kind != "exact"
    ]
    entries.sort(key=lambda entry: (-_mentions(entry), DECIDED.index(entry.verdict)))
    chosen: list[Card] = []
    shown: set[str] = set()
    for entry in entries:
        experiments = {finding.experiment for finding in entry.headline.deciding}
        if shown.isdisjoint(experiments) and (card := _card(entry, site)):
            chosen.append(card)
            shown |= experiments
    return chosen[:CARDS]


def _mentions(entry: Entry) -> int:
    return sum(map(len, places(entry.claim).values()))


def _card(entry: Entry, site: Site) -> Card | None:
    """Return the card (a box with a figure on the first page) of a claim; None if a shown verdict
    is exact or has no effect to draw.
    """
    best = clearest(entry.verdict, views(entry, site))
    if not best or any(is_exact(view.finding.answer) or not view.is_drawable for view in best):
        return None
    return Card(entry, _mentions(entry), best)


@dataclass(frozen=True)
class Answered:
    """A common question on the first page of the web site, with the claims that answer it.

    Args:
        question: the question, with its written answer.
        current: whether the written answer still holds: every claim has the result (such as
            "supported") that it had when the answer was written.
        claims: each claim that was tested, with the one or two verdicts that explain its result
            best.
    """

    question: Question
    current: bool
    claims: list[tuple[Entry, list[View]]]

    @property
    def certainty(self) -> str:
        """A sentence on how certain the shown verdicts are."""
        return certainty([view.finding for _, best in self.claims for view in best])


def questions(site: Site) -> list[Answered]:
    """Return each common question that at least one tested claim answers."""
    return [
        answered for question in read_questions() if (answered := _answered(question, site)).claims
    ]


def _answered(question: Question, site: Site) -> Answered:
    tested = {
        claim: entry
        for claim in question.claims
        if (entry := site.by_id.get(claim)) and entry.findings
    }
    return Answered(
        question,
        {claim: entry.verdict for claim, entry in tested.items()} == question.claims,
        [(entry, clearest(entry.verdict, views(entry, site))) for entry in tested.values()],
    )
