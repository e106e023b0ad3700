"""Write the runs of an experiment as a script, which its pages load on demand.

The page of an experiment draws seeds and curves from the script. The page of its runs has an
address for each run: runs/<experiment>.html#<identity>.
"""

import json
from typing import Any

from ablate.config.labels import arm_label, level_label
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Curve, Levels, ReportedClaim, Run, Verdict
from ablate.metric.table import metric_of
from ablate.record.label import value_text
from ablate.report.marks import arm_colours
from ablate.report.selection import measured, shown
from ablate.verdict.decision import is_exact
from ablate.verdict.sides import has


def data(evidence: Evidence, answers: list[ReportedClaim], verdict: Verdict, page: str) -> str:
    """Return the runs of an experiment and the differences of its claims as a JavaScript file."""
    metrics, arms = shown(evidence, verdict), arm_names(evidence)
    content = {
        "colours": arm_colours([*dict.fromkeys(arms.values())]),
        "settings": settings(verdict),
        "metrics": {metric: metric_of(metric).axis for metric in _measured(evidence, metrics)},
        "columns": metrics,
        "runs": [_run(run, arms[run["arm"]], metrics) for run in evidence.runs],
        "claims": [_claim(answer, evidence) for answer in answers],
    }
    return script(page, content)


def script(name: str, value: Any) -> str:
    """Return JavaScript that stores a value under a name; a page opened from disk can load it,
    unlike JSON.
    """
    text = json.dumps(value, separators=(",", ":"))
    return f"(window.ablate = window.ablate || {{}})[{json.dumps(name)}] = {text};\n"


def _measured(evidence: Evidence, metrics: list[str]) -> list[str]:
    """Return the metrics of runs and of their learning curves that the pages show."""
    drawn = [key for run in evidence.runs for curve in _curves(run) for key in curve]
    return list(dict.fromkeys([*metrics, *(key for key in drawn if key != "step")]))


def _curves(run: Run) -> list[Curve]:
    """Return the learning curve of a run on validation data and, if stored, on training data."""
    return [curve for curve in (run["curve"], run.get("training")) if curve]


def arm_names(evidence: Evidence) -> dict[str, str]:
    """Return the label of each arm; if two labels are equal, the config text of each arm."""
    labels = {run["arm"]: arm_label(run["levels"]) or run["arm"] for run in evidence.runs}
    alike = len({*labels.values()}) < len(labels)
    return {arm: arm for arm in labels} if alike else labels


def settings(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the settings that all runs of an experiment share, by readable names."""
    regime = verdict["regime"]
    parts = {
        "data": level_label("data", regime["data"]),
        "width": regime.get("d_model"),
        "layers": regime.get("n_layers"),
        "steps": regime.get("steps"),
        "tokens in a batch": regime.get("tokens_per_step"),
        "device": regime.get("device"),
        "precision": regime.get("precision"),
    }
    options = {
        group.rpartition("/")[2].replace("_", " "): level_label(group, option)
        for group, option in (verdict.get("components") or {}).items()
    }
    every = {**parts, **options}
    return [(name, str(value)) for name, value in every.items() if value not in (None, "")]


def _run(run: Run, arm: str, metrics: list[str]) -> dict[str, object]:
    return {
        "id": run["identity"],
        "arm": arm,
        "levels": [(key, value_text(level)) for key, level in run["levels"].items()],
        "tuned": level_label(**_tuned(run)) if "tuned" in run else "",
        "seed": run["seed"],
        "status": run["status"],
        "values": [metric_of(metric).say(measured(run, metric)) for metric in metrics],
        "seconds": round(run["seconds"], 1),
        "command": run["command"],
        "curves": [
            {key: [_short(value) for value in values] for key, values in curve.items()}
            for curve in _curves(run)
        ],
    }


def _tuned(run: Run) -> dict[str, Any]:
    return {"factor": run["tuned"]["key"], "level": run["tuned"]["value"]}


def _short(value: int | float | None) -> int | float | None:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _claim(claim: ReportedClaim, evidence: Evidence) -> dict[str, object]:
    """Return, under the key `seeds`, a dictionary for every seed of a claim, with the difference
    between the compared arms and the indices of the runs of each arm.
    """
    metric = metric_of(claim["metric"])
    sides = [claim["treatment"], claim["baseline"]] if claim["treatment"] else [{}]
    if not by_seed(claim):
        return {"seeds": []}
    return {
        "seeds": [
            {
                "seed": seed,
                "value": value,
                "said": metric.say(value, sign=True),
                "runs": [numbers(claim["where"] | side, seed, evidence) for side in sides],
            }
            for seed, value in zip(claim["seeds"], claim["differences"], strict=True)
        ]
    }


def by_seed(claim: ReportedClaim) -> bool:
    """Return whether a claim has a difference for each seed."""
    differences = [value for value in claim["differences"] if value is not None]
    return not is_exact(claim) and len(claim["seeds"]) == len(differences) > 0


def numbers(levels: Levels, seed: int, evidence: Evidence) -> list[int]:
    """Return the indices, in the evidence, of the runs with these factor levels and this seed."""
    return [
        number
        for number, run in enumerate(evidence.runs)
        if run["seed"] == seed and has(run, levels)
    ]
