"""The page for those who know nothing of all this: one verdict explained, and how to ask."""

from importlib.resources import files

from ablate.config.smoke import SMOKE
from ablate.ledger.headline import MIXED, NOT_TESTABLE, NOT_TESTED, UNDECIDED
from ablate.ledger.places import COMMITTED
from ablate.metric.table import metric_of
from ablate.site.claim import View, drawn, views
from ablate.site.model import Site

FIRST = ("preln_vs_postln", "preln_solves_gradient_problem")  # experiment and claim, where it is

MEANINGS = {
    "supported": "The runs show what the sentence says.",
    "refuted": "The runs show that it is not so.",
    MIXED: "It holds in some settings and not in others.",
    UNDECIDED: "In some setting the runs show neither: it takes more or longer ones.",
    NOT_TESTABLE: "It is a definition, a convention, history or an opinion.",
    NOT_TESTED: "Nobody has asked yet.",
}


def whole(site: Site) -> dict[str, object]:
    """What the page shows."""
    view = _example(site)
    found = drawn([view]) if view else []
    return {
        "view": view,
        "forest": found[0][0] if found else None,
        "metric": metric_of(view.told["metric"]).axis if view and view.told else "",
        "meanings": MEANINGS,
        "question": (files("ablate.site") / "question.yaml").read_text(encoding="utf-8"),
    }


def _example(site: Site) -> View | None:
    """A committed verdict on two arms over several seeds; None where there is none."""
    found = [
        view
        for entry in site.entries
        for view in views(entry, site)
        if view.finding.kind == "superiority"
        and view.finding.scale != SMOKE
        and _whole(view)
        and view.finding.origin == COMMITTED
    ]
    first = [view for view in found if (view.finding.experiment, view.finding.claim) == FIRST]
    return next(iter([*first, *found]), None)


def _whole(view: View) -> bool:
    """Whether every step can be shown of it."""
    told = view.told
    return bool(told and view.row and told["pairs"] > 2 and told["margin"] and not told["minus"])
