"""Prepare the page for beginners: a verdict explained step by step, and how to ask a question."""

from importlib.resources import files

from ablate.config.labels import KEYS
from ablate.config.smoke import SMOKE
from ablate.ledger.headline import MIXED, NOT_TESTABLE, NOT_TESTED, UNDECIDED
from ablate.ledger.places import COMMITTED
from ablate.metric.table import metric_of
from ablate.site.claim import View, drawn, views
from ablate.site.ledger import sure
from ablate.site.model import Site
from ablate.site.words import read_words

FIRST = ("preln_vs_postln", "preln_solves_gradient_problem")  # the preferred experiment and claim

MEANINGS = {
    "supported": "The experiment shows what the sentence says.",
    "refuted": "The experiment shows that the sentence is wrong.",
    MIXED: "The sentence holds in some settings and is wrong in others.",
    UNDECIDED: (
        "The experiment neither supports nor refutes the sentence. More or longer runs could do so."
    ),
    NOT_TESTABLE: "The sentence is a definition, a convention, history or an opinion.",
    NOT_TESTED: "No experiment has tested the sentence yet.",
}


def whole(site: Site) -> dict[str, object]:
    """Return the variables of the template for the page for beginners, which explains a verdict
    step by step.
    """
    view = _example(site)
    axes = drawn([view]) if view else []
    return {
        "view": view,
        "forest": axes[0][0] if axes else None,
        "tuned": KEYS.get(view.source.tuned, "").replace(" {}", "") if view else "",
        "metric": metric_of(view.claim["metric"]).name if view and view.claim else "",
        "meanings": MEANINGS,
        "words": read_words(),
        **sure(site),
        "question": (files("ablate.site") / "question.yaml").read_text(encoding="utf-8"),
    }


def _example(site: Site) -> View | None:
    """Return a verdict that the page for beginners explains: on two arms over several seeds, with
    results in the repository. The result is None if there is no such verdict.
    """
    candidates = [
        view
        for entry in site.entries
        for view in views(entry, site)
        if view.finding.kind == "superiority"
        and view.finding.scale != SMOKE
        and _whole(view)
        and view.finding.origin == COMMITTED
    ]
    first = [view for view in candidates if (view.finding.experiment, view.finding.claim) == FIRST]
    return next(iter([*first, *candidates]), None)


def _whole(view: View) -> bool:
    """Return whether a verdict has everything that the page for beginners explains step by step: an
    interval from more than two pairs of runs, a margin, and a drawn effect that is no difference of
    differences.
    """
    claim = view.claim
    return bool(
        claim and view.row and claim["pairs"] > 2 and claim["margin"] and not claim["minus"]
    )
