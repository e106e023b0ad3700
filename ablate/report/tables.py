"""The tables of a report, as text."""

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.table import by_arm
from ablate.evidence.types import (
    Answer,
    Band,
    Entry,
    Levels,
    Published,
    Run,
    Spread,
    Target,
    Told,
    Verdict,
)
from ablate.metric.table import NOTHING, metric_of
from ablate.phrases import interval, listed, name_of, probability, text
from ablate.report.selection import bound, measured, outcomes
from ablate.verdict.decision import Decision
from ablate.verdict.sides import has

# Shown where the runs have them, after the metrics of the claims.
USUAL = ("test/bleu", "test/nll", "test_long/bleu")
ENDINGS = ("diverged", "collapsed", "failed")


@dataclass(frozen=True)
class Table:
    """Cells of Markdown; the first column is text, the others are numbers unless said."""

    head: list[str]
    rows: list[list[str]]
    words: int = 1  # columns of text, from the left

    @property
    def rule(self) -> list[str]:
        """The line below the head, which aligns the columns."""
        return ["---" if i < self.words else "---:" for i in range(len(self.head))]


def other_margins(entries: Iterable[Told]) -> Table | None:
    """One row per claim that another margin would decide otherwise; None where there is none."""
    rows = [
        [text(said), f"{bound(one)[1]:g}", text(_bands(one["sensitivity"]))]
        for one in entries
        if len(one["sensitivity"]) > 1 and (said := name_of(one))
    ]
    return Table(["claim", "margin", "verdict by margin"], rows, words=3) if rows else None


def _bands(bands: list[Band]) -> str:
    said = [(str(Decision(band["verdict"], band["grade"])), band["from"]) for band in bands]
    rest = [f"{word} from {start:.4g} on" for word, start in said[1:]]
    return "; ".join([f"{said[0][0]} below {said[1][1]:.4g}", *rest])


def arms(evidence: Evidence, verdict: Verdict) -> Table:
    """One row per arm: mean and standard deviation of its metrics, and what became of its runs."""
    metrics = _metrics(verdict)
    counts, runs = outcomes(evidence.runs), by_arm(evidence.runs)
    head = ["arm", "seeds", *(text(metric_of(metric).axis) for metric in metrics)]
    rows = [
        [
            text(arm["arm"]),
            str(arm["seeds"]),
            *(_spread(arm["metrics"].get(metric), metric) for metric in metrics),
            " / ".join(str(counts[arm["arm"]][ending]) for ending in ENDINGS),
            str(sum(run["reused"] for run in runs[arm["arm"]])),
            _sizes(runs[arm["arm"]]),
        ]
        for arm in verdict["arms"]
    ]
    return Table([*head, " / ".join(ENDINGS), "reused", "parameters"], rows)


def _metrics(verdict: Verdict) -> list[str]:
    """Metrics of the claims, then the usual ones, that some arm has."""
    asked = [claim["metric"] for claim in verdict["claims"] if claim["metric"] != "parameters"]
    known = {metric for arm in verdict["arms"] for metric in arm["metrics"]}
    return [metric for metric in dict.fromkeys([*asked, *USUAL]) if metric in known]


def _spread(found: Spread | None, metric: str) -> str:
    if found is None:
        return NOTHING
    return metric_of(metric).spread(found["mean"], found["sd"])


def _sizes(runs: list[Run]) -> str:
    sizes = sorted({int(n) for run in runs if (n := run["metrics"].get("parameters"))})
    return " to ".join(f"{n:,}" for n in dict.fromkeys([*sizes[:1], *sizes[-1:]])) or NOTHING


def effects(claims: list[Told]) -> Table:
    """One row per claim: what the figure shows, in numbers, and the tests behind the verdict."""
    columns = {
        "claim": [text(claim["id"]) for claim in claims],
        "updates": [f"{n:,}" if (n := claim.get("steps")) else NOTHING for claim in claims],
        "verdict": [graded(claim) for claim in claims],
        "metric": [text(metric_of(claim["metric"]).name) for claim in claims],
        "effect": [_effect(claim) for claim in claims],
        "interval": [_interval(claim, claim["interval"]) for claim in claims],
        "for equivalence": [
            _interval(claim, claim.get("interval_equivalence")) for claim in claims
        ],
        "margin": [_bound(claim) for claim in claims],
        "pairs": [str(claim.get("pairs") or NOTHING) for claim in claims],
        "p supported": [_adjusted(claim, "supported") for claim in claims],
        "p refuted": [_adjusted(claim, "refuted") for claim in claims],
        "failed to learn": [_failures(claim) for claim in claims],
    }
    told = {name: cells for name, cells in columns.items() if set(cells) != {NOTHING}}
    words = 4 if "updates" in told else 3
    return Table(list(told), [list(row) for row in zip(*told.values(), strict=True)], words)


def targets(evidence: Evidence, verdict: Verdict) -> Table | None:
    """Updates that the baselines take to get where the treatments are at the short budget."""
    told = [
        _target(claim, short["steps"], found, evidence)
        for claim in verdict["claims"]
        if (short := claim.get("short")) and (found := short["time_to_target"])
    ]
    if not told:
        return None
    head = ["claim", "target", "by", "updates", "interval", "seconds to the target", "seconds by"]
    return Table(head, told, words=3)


def _target(claim: Entry, steps: int, found: Target, evidence: Evidence) -> list[str]:
    treatment, baseline = claim["arms"]
    ends = found["interval"] or []
    said = [f"{x:,.0f}" if x is not None else f"> {claim['steps']:,}" for x in ends]
    needed, where = found["updates"], claim["where"]
    return [
        text(claim["id"]),
        f"{text(treatment)} after {steps:,}",
        text(baseline),
        f"> {claim['steps']:,}" if needed is None else f"{needed:,.0f}",
        f"[{', '.join(said)}]" if said else NOTHING,
        _seconds(evidence, where | claim["treatment"], steps),
        _seconds(evidence, where | claim["baseline"], needed),
    ]


def _seconds(evidence: Evidence, levels: Levels, updates: int | float | None) -> str:
    """What so many updates take, by the median cost of one in the runs at these levels."""
    runs = (run for run in evidence.runs if "update_seconds" in run and has(run, levels))
    known = [run["update_seconds"] for run in runs]
    if not known or updates is None:
        return NOTHING
    return f"{statistics.median(known) * updates:,.1f}"


def graded(claim: Answer) -> str:
    """The status of a claim with the grade beside it."""
    return str(Decision(claim["verdict"], claim.get("grade", "")))


def _effect(claim: Told) -> str:
    return metric_of(claim["metric"]).say(claim.get("effect"), sign=claim["kind"] != "exact")


def _bound(claim: Told) -> str:
    which, size = bound(claim)
    if not size:
        return NOTHING
    return f"{size:g}" if which == "margin" else f"{which} {size:g}"


def _interval(claim: Told, ends: list[float] | None) -> str:
    return interval(metric_of(claim["metric"]), ends)


def _adjusted(claim: Told, side: str) -> str:
    return probability((claim.get("p_adjusted") or {}).get(side))


def _failures(claim: Told) -> str:
    """Runs of each arm that failed to learn, with the exact interval of their rate."""
    counts = (claim.get("failed_to_learn") or {}).values()
    cells = dict.fromkeys(
        f"{count['runs']} of {count['of']} ({low:.0%} to {high:.0%})"
        for count in counts
        for low, high in [count["interval"]]
    )
    if not cells:
        return NOTHING
    return "; ".join(cells) if len(cells) > 1 else f"{next(iter(cells))} in each arm"


def wrong(evidence: Evidence) -> Table | None:
    """Every run that did not finish."""
    runs = [run for run in evidence.runs if run["status"] != "finished"]
    rows = [
        [
            *(text(run[key]) for key in ("arm", "seed", "status")),
            _when(run),
            text(run.get("error", "")) or NOTHING,
        ]
        for run in runs
    ]
    return Table(["arm", "seed", "status", "last validation", "error"], rows, 5) if rows else None


def _when(run: Run) -> str:
    steps = run["curve"].get("step", [])
    return f"step {steps[-1]:,.0f}" if steps else NOTHING


def screening(evidence: Evidence) -> Table | None:
    """The tuned nuisance: its values down, the validation metric of every seed across."""
    tune = evidence.study.get("tune")
    if not tune or not evidence.screening:
        return None
    chosen = Counter((run["arm"], run["tuned"]["value"]) for run in evidence.runs if "tuned" in run)
    seeds = sorted({run["seed"] for run in evidence.screening})
    rows = []
    for arm, runs in by_arm(evidence.screening).items():
        for level in dict.fromkeys(run["tuned"]["value"] for run in runs):
            tried = {run["seed"]: run for run in runs if run["tuned"]["value"] == level}
            cells = [_tried(tried.get(seed), tune["metric"]) for seed in seeds]
            rows.append([text(arm), f"{text(level)}{_chosen(chosen, arm, level)}", *cells])
    head = ["arm", text(tune["key"]), *(f"seed {seed}" for seed in seeds)]
    return Table(head, rows, words=2)


def _chosen(chosen: Counter[tuple[str, Any]], arm: str, level: Any) -> str:
    """How many of an arm's replicates took a value."""
    took = chosen[arm, level]
    of = sum(count for (name, _), count in chosen.items() if name == arm)
    if not took:
        return ""
    return ", chosen" if took == of else f", chosen by {took} of {of}"


def _tried(run: Run | None, metric: str) -> str:
    if run is None:
        return NOTHING
    if run["status"] == "failed":
        return "failed"
    said = metric_of(metric).say(measured(run, metric))
    return said if run["status"] == "finished" else f"{said} ({text(run['status'])})"


def published(evidence: Evidence, verdict: Verdict) -> Table | None:
    """Numbers of the literature, and ours for the arm of the same name."""
    rows = [
        [
            text(number["arm"]),
            text(metric_of(number["metric"]).axis),
            text(number["source"]),
            text(number["regime"]),
            metric_of(number["metric"]).say(number["value"]),
            listed(_ours(verdict, number)) or NOTHING,
        ]
        for number in evidence.study.get("published", [])
    ]
    head = ["arm", "metric", "source", "regime", "published", "here"]
    return Table(head, rows, words=4) if rows else None


def _ours(verdict: Verdict, number: Published) -> list[str]:
    """Our arm of this name, or else all arms that have all its words."""
    by_name = {arm["arm"]: arm for arm in verdict["arms"]}
    words = set(number["arm"].split())
    close = [name for name in by_name if words <= set(name.split())]
    names = [number["arm"]] if number["arm"] in by_name else close
    return [
        (f"{text(name)}: " if len(names) > 1 else "")
        + _spread(by_name[name]["metrics"].get(number["metric"]), number["metric"])
        for name in names
    ]
