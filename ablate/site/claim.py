"""The page of a claim: the sentence, the answer, one figure, why one should believe it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ablate.evidence.types import ReportedClaim
from ablate.ledger.entries import Entry
from ablate.ledger.headline import MIXED
from ablate.ledger.pairs import Pair
from ablate.ledger.verdicts import Finding
from ablate.phrases import listed
from ablate.site.documents import linked
from ablate.site.forest import Forest, Row, forests, row
from ablate.site.margins import Margins, margins
from ablate.site.model import Site
from ablate.site.source import Source
from ablate.site.trust import doubts, support
from ablate.site.wording import changes, counted, duration, rule
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, was_trained
from ablate.verdict.wording.caveats import about


@dataclass(frozen=True)
class View:
    """A verdict as its page shows it."""

    finding: Finding
    source: Source
    told: ReportedClaim | None
    page: str  # of its experiment
    key: str  # by which a slider finds its row
    decides: bool = True  # whether the headline of the claim rests on it

    @cached_property
    def row(self) -> Row | None:
        """The effect to draw; None where there is none."""
        return row(self.told, self.place) if self.told else None

    @property
    def place(self) -> str:
        """Reading and setting, in short."""
        parts = [self.finding.reading, self.setting, self.source.by_user]
        return "; ".join(part for part in parts if part)

    @property
    def setting(self) -> str:
        """Corpus and training."""
        if not was_trained(self.source.verdict):
            return "without training"
        corpus = listed(self.source.corpora)
        steps = self.finding.steps
        return f"{corpus}, {int(steps):,} steps" if steps.isdigit() else corpus

    @property
    def opening(self) -> str:
        """The answer in a few words: how the headline of the verdict begins."""
        word = "undecided" if self.finding.verdict == INCONCLUSIVE else self.finding.verdict
        headline = self.told.get("headline", "") if self.told else ""
        return headline.partition(". ")[0] or word.capitalize()

    @property
    def trained(self) -> str:
        """How long its models were trained."""
        if not was_trained(self.source.verdict):
            return "not trained"
        steps = self.finding.steps
        return f"{int(steps):,} steps" if steps.isdigit() else ""

    @property
    def margins(self) -> Margins | None:
        """What other margins would give."""
        return margins(self.told) if self.told else None

    @property
    def changes(self) -> list[str]:
        """What would change it."""
        return changes(self.told, self.source.per_seed(self.told)) if self.told else []

    @cached_property
    def caveats(self) -> list[str]:
        """What this verdict does not cover."""
        if self.told is None:
            return self.source.caveats
        return about(self.told, self.source.entries, self.source.caveats)

    @property
    def rule(self) -> str:
        """By which it was decided."""
        return rule(self.told) if self.told else ""

    @property
    def cost(self) -> str:
        """How long to run it again."""
        if self.source.evidence is None:
            return ""
        runs = len(self.source.evidence.runs)
        took = duration(self.source.seconds)
        return f"{counted(runs, 'run')}, {took} of one processor core in all"


def views(entry: Entry, site: Site) -> list[View]:
    """Return every verdict on a claim, those that decide its headline first."""
    deciding = entry.headline.deciding
    ordered = sorted(entry.findings, key=lambda finding: finding not in deciding)
    return [
        View(
            finding,
            site.sources[finding.report.parent],
            site.told(finding),
            site.experiments[finding.report.parent],
            f"v{number}",
            finding in deciding,
        )
        for number, finding in enumerate(ordered, 1)
    ]


def drawn(views: list[View]) -> list[tuple[Forest, list[View]]]:
    """The effects of all verdicts, each with its view, on as few axes as can be.

    Axes with verdicts that decide come first, and so do these verdicts on each axis.
    """
    by_row = {id(view.row): view for view in views if view.row}
    every = forests(view.row for view in views if view.row)
    found = [(forest, [by_row[id(row)] for row in forest.rows]) for forest in every]
    return sorted(found, key=lambda pair: not any(view.decides for view in pair[1]))


def clearest(word: str, views: list[View]) -> list[View]:
    """Return the verdict that agrees with a headline, of a mixed one one of each kind.

    Of several, it is one that can be drawn, with as many seeds as any.
    """
    deciding = sorted((view for view in views if view.decides), key=_unclear)
    if word == MIXED:
        both = ([v for v in deciding if v.finding.verdict == w] for w in (SUPPORTED, REFUTED))
        return [same[0] for same in both if same]
    return ([view for view in deciding if view.finding.verdict == word] or deciding)[:1]


def _unclear(view: View) -> tuple[bool, int]:
    return not view.row, -view.told["pairs"] if view.told else 0


def against(claim: str, site: Site) -> Iterator[tuple[Pair, list[Entry]]]:
    """The pairs that a claim is of, each with the claims on its other side."""
    for pair in site.pairs:
        if claim in {*pair.one, *pair.other}:
            yield pair, [site.by_id[other] for other in pair.against(claim)]


def whole(entry: Entry, site: Site) -> dict[str, object]:
    """What the page of a claim shows."""
    found = views(entry, site)
    deciding = [view for view in found if view.decides]
    return {
        "entry": entry,
        "places": linked(entry, site),
        "against": [*against(entry.claim.id, site)],
        "views": found,
        "deciding": deciding,
        "best": clearest(entry.verdict, found),
        "drawn": drawn(found),
        "support": [*support([(view.finding, view.source, view.told) for view in deciding])],
        "doubts": [*doubts([(view.finding, view.source, view.told) for view in deciding])],
    }
