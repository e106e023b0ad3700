"""Prepare the parts of the first page before the ledger: cards with findings, and
common questions.
"""

from dataclasses import dataclass

from ablate.ledger.entries import Entry
from ablate.ledger.headline import MIXED
from ablate.ledger.questions import read_questions
from ablate.site.claim import View, clearest, views
from ablate.site.documents import places
from ablate.site.forest import Forest, forests
from ablate.site.model import Site
from ablate.verdict.decision import REFUTED, SUPPORTED

SHOWN = 10
DECIDED = (
    REFUTED,
    MIXED,
    SUPPORTED,
)  # order of cards for equally common sentences: surprises first


@dataclass(frozen=True)
class Card:
    """A finding with its figure: up to two verdicts on one axis.

    Args:
        entry: the claim with its verdicts.
        mentions: number of places where documents make the claim.
        forest: the axis of the verdicts.
        views: a verdict; for a mixed result a supported and a refuted one.
    """

    entry: Entry
    mentions: int
    forest: Forest
    views: list[View]


def cards(site: Site) -> list[Card]:
    """Return the most interesting findings, at most one of each experiment.

    A sentence is interesting if many texts state it, if a run could have decided it either way (so
    exact sentences are left out), and if runs did decide it.
    """
    entries = [
        entry
        for entry in site.entries
        if entry.verdict in DECIDED and entry.claim.kind != "exact" and not entry.outside
    ]
    entries.sort(key=lambda entry: (-_mentions(entry), DECIDED.index(entry.verdict)))
    chosen: list[Card] = []
    shown: set[str] = set()
    for entry in entries:
        experiments = {finding.experiment for finding in entry.headline.deciding}
        if shown.isdisjoint(experiments) and (card := _card(entry, site)):
            chosen.append(card)
            shown |= experiments
    return chosen[:SHOWN]


def _mentions(entry: Entry) -> int:
    return sum(map(len, places(entry.claim).values()))


def _card(entry: Entry, site: Site) -> Card | None:
    """Return the card of a claim; None if its answer does not fit on one axis of effects."""
    best = clearest(entry.verdict, views(entry, site))
    rows = [view.row for view in best if view.row and not view.row.exact]
    axes = forests(rows)
    if len(rows) < len(best) or len(axes) != 1:
        return None
    return Card(entry, _mentions(entry), axes[0], best)


def questions(site: Site) -> list[tuple[str, list[tuple[Entry, list[View]]]]]:
    """Return each question with the claims that answer it, and their clearest verdicts."""
    listed = []
    for question in read_questions():
        entries = [site.by_id[claim] for claim in question.claims if claim in site.by_id]
        answers = [
            (entry, clearest(entry.verdict, views(entry, site)))
            for entry in entries
            if entry.findings
        ]
        if answers:
            listed.append((question.text, answers))
    return listed
