"""Prepare two parts of the first page of the web site that shows the verdicts: cards with the most
interesting claims, and common questions.
"""

from dataclasses import dataclass

from ablate.ledger.annotations import Question, read_questions
from ablate.ledger.entries import Entry
from ablate.ledger.headline import MIXED
from ablate.site.claim import View, clearest, views
from ablate.site.documents import places
from ablate.site.forest import Forest, forests
from ablate.site.model import Site
from ablate.site.trust import certainty
from ablate.verdict.decision import REFUTED, SUPPORTED

SHOWN = 10
DECIDED = (
    REFUTED,
    MIXED,
    SUPPORTED,
)  # order of cards for equally common sentences: surprises first


@dataclass(frozen=True)
class Card:
    """A claim on the first page of the web site, with a figure of one or two verdicts.

    Args:
        entry: the claim with all of its verdicts.
        mentions: number of sections that make the claim, in all texts whose claims are tested.
        forest: the axis with the effects of the shown verdicts.
        views: the shown verdicts: one verdict, or for a mixed result a supported and a refuted
            verdict.
    """

    entry: Entry
    mentions: int
    forest: Forest
    views: list[View]


def cards(site: Site) -> list[Card]:
    """Return cards of the most interesting claims, at most `SHOWN`, with no experiment on more than
    one card.

    A claim is interesting if it is made by many sections of the documents (the texts about the
    Transformer whose claims are tested), if runs decided it, and if the runs could have decided it
    the other way (so exact claims are left out).
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
    """Return the card (a box with a figure on the first page) of a claim; None if a shown verdict
    is exact or has no effect to draw, or if the effects do not fit on one axis.
    """
    best = clearest(entry.verdict, views(entry, site))
    rows = [view.row for view in best if view.row and not view.row.exact]
    axes = forests(rows)
    if len(rows) < len(best) or len(axes) != 1:
        return None
    return Card(entry, _mentions(entry), axes[0], best)


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
