"""The page of a claim: where it is said, every verdict in words and drawn, what would change it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ablate.evidence.types import Told
from ablate.ledger.entries import Entry
from ablate.ledger.pairs import Pair
from ablate.ledger.verdicts import Finding
from ablate.site.documents import linked
from ablate.site.forest import Forest, Row, forests, row
from ablate.site.margins import Margins, margins
from ablate.site.model import Site
from ablate.site.source import Source
from ablate.site.wording import changes, duration, rule
from ablate.verdict.decision import was_trained
from ablate.verdict.wording.caveats import about


@dataclass(frozen=True)
class View:
    """A verdict as its page shows it."""

    finding: Finding
    source: Source
    told: Told | None
    page: str  # of its experiment
    key: str  # by which a slider finds its row

    @cached_property
    def row(self) -> Row | None:
        """The effect to draw; None where there is none."""
        return row(self.told, self.place) if self.told else None

    @property
    def place(self) -> str:
        """Experiment, reading and regime, in short."""
        one = self.finding
        parts = [one.experiment, one.reading, one.data, one.budget or f"{one.model} model"]
        return ", ".join(part for part in (*parts, self.source.by_user) if part)

    @property
    def trained(self) -> str:
        """How long its models were trained."""
        if not was_trained(self.source.verdict):
            return "not trained"
        steps = self.finding.steps
        return self.finding.budget or (f"{int(steps):,} updates" if steps.isdigit() else "")

    @property
    def margins(self) -> Margins | None:
        """What other margins would give."""
        return margins(self.told) if self.told else None

    @property
    def changes(self) -> list[str]:
        """What would change it."""
        return changes(self.told, self.source.per_seed(self.told)) if self.told else []

    @property
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
        return f"{runs} run{'s' * (runs != 1)}, {took} of one worker in all"


def views(entry: Entry, site: Site) -> list[View]:
    """Every verdict on a claim."""
    return [
        View(
            finding,
            site.sources[finding.report.parent],
            site.told(finding),
            site.experiments[finding.report.parent],
            f"v{number}",
        )
        for number, finding in enumerate(entry.findings, 1)
    ]


def drawn(found: list[View]) -> list[tuple[Forest, list[View]]]:
    """The effects of all verdicts, each with its view, on as few axes as can be."""
    by_row = {id(view.row): view for view in found if view.row}
    every = forests(view.row for view in found if view.row)
    return [(forest, [by_row[id(one)] for one in forest.rows]) for forest in every]


def against(claim: str, site: Site) -> Iterator[tuple[Pair, list[Entry]]]:
    """The pairs that a claim is of, each with the claims on its other side."""
    for pair in site.pairs:
        if claim in {*pair.one, *pair.other}:
            yield pair, [site.by_id[other] for other in pair.against(claim)]


def whole(entry: Entry, site: Site) -> dict[str, object]:
    """What the page of a claim shows."""
    found = views(entry, site)
    return {
        "entry": entry,
        "places": linked(entry, site),
        "against": [*against(entry.claim.id, site)],
        "views": found,
        "drawn": drawn(found),
    }
