"""The rules by which runs become a verdict: supported, refuted or inconclusive.

The rule of a claim is fixed by its `kind` and written in the study before the runs. Two kinds are
known: exact and superiority.
"""

from typing import Any

import numpy as np
import yaml
from scipy import stats

from ablate.study.outcome import value

Run = dict[str, Any]
SUPPORTED, REFUTED, INCONCLUSIVE = "supported", "refuted", "inconclusive"


def judge(claim: dict[str, Any], runs: list[Run]) -> dict[str, Any]:
    """Apply the rule of a claim to the runs of a sweep.

    Returns the verdict with effect, interval and number of seeds, and one sentence.
    """
    ended = [run for run in runs if run["status"] != "failed" and _has(run, claim["where"])]
    missing = sum(run["status"] == "failed" and _has(run, claim["where"]) for run in runs)
    found = {"exact": exact, "superiority": superiority}[claim["kind"]](claim, ended)
    kept = ("id", "statement", "source", "kind", "metric", "margin", "alpha")
    return {**{key: claim[key] for key in kept}, **found, "failed_runs": missing}


def exact(claim: dict[str, Any], runs: list[Run]) -> dict[str, Any]:
    """Supported when |metric| <= tolerance in every run, refuted by a single other one."""
    values = [abs(value(run, claim["metric"])) for run in runs]
    worst = max(values, default=0.0)
    broken = sum(v > claim["tolerance"] for v in values)
    verdict = REFUTED if broken else SUPPORTED if values else INCONCLUSIVE
    sentence = (
        f"{claim['metric']} is within {claim['tolerance']:g} of 0 in {len(values) - broken} of "
        f"{len(values)} cases (largest deviation {worst:g}): {verdict}."
    )
    return {"verdict": verdict, "cases": len(values), "effect": worst, "sentence": sentence}


def superiority(claim: dict[str, Any], runs: list[Run]) -> dict[str, Any]:
    """Mean paired difference with its t-interval over seeds, against 0 and the margin."""
    treated, baseline = (_by_seed(claim[arm], runs) for arm in ("treatment", "baseline"))
    seeds = sorted(treated.keys() & baseline.keys())
    sign = 1.0 if claim["better"] == "higher" else -1.0
    pairs = [(treated[seed], baseline[seed]) for seed in seeds]
    found = _difference(claim, [_pair(pair, claim["metric"], sign) for pair in pairs])
    good = [p for p in pairs if p[0]["status"] == p[1]["status"] == "finished"]
    among = _difference(claim, [_pair(pair, claim["metric"], sign) for pair in good])
    return {
        **found,
        "seeds": seeds,
        "among_converged_pairs": {k: among[k] for k in ("pairs", "effect", "interval")},
    }


def _difference(claim: dict[str, Any], pairs: list[tuple[float, float]]) -> dict[str, Any]:
    effect, low, high = paired_interval(np.array(pairs).reshape(-1, 2), claim["alpha"])
    verdict = decide(effect, low, high, claim["margin"])
    if not pairs:
        sentence = "No pair of runs with the same seed has ended: inconclusive."
    else:
        sentence = _sentence(claim, effect, (low, high), len(pairs), verdict)
    return {
        "verdict": verdict,
        "pairs": len(pairs),
        "effect": effect,
        "interval": [low, high],
        "sentence": sentence,
    }


def _sentence(
    claim: dict[str, Any], effect: float, interval: tuple[float, float], pairs: int, verdict: str
) -> str:
    low, high = interval
    return (
        f"{_name(claim['treatment'])} - {_name(claim['baseline'])}, better is {claim['better']}: "
        f"{effect:+.2f} {claim['metric']} [{low:+.2f}, {high:+.2f}], {pairs} seeds, "
        f"margin {claim['margin']:g}: {verdict}."
    )


def paired_interval(pairs: np.ndarray, alpha: float) -> tuple[float, float, float]:
    """Mean of the differences and its two-sided t-interval at level 1 - alpha.

    Fewer than two pairs give an unbounded interval. Differences that are all equal give one of
    no width, which is what t says, though two or three seeds are little evidence.
    """
    if len(pairs) == 0:
        return float("nan"), float("-inf"), float("inf")
    differences = pairs[:, 0] - pairs[:, 1]
    mean = float(differences.mean())
    if len(pairs) < 2:
        return mean, float("-inf"), float("inf")
    error = float(stats.sem(differences))
    if error == 0:
        return mean, mean, mean
    low, high = stats.t.interval(1 - alpha, len(pairs) - 1, mean, error)
    return mean, float(low), float(high)


def decide(effect: float, low: float, high: float, margin: float) -> str:
    """Superiority: above 0 and at least the margin, or wholly below the margin, or neither."""
    if low > 0 and effect >= margin:
        return SUPPORTED
    if high < margin:
        return REFUTED
    return INCONCLUSIVE


def _pair(pair: tuple[Run, Run], metric: str, sign: float) -> tuple[float, float]:
    return sign * value(pair[0], metric), sign * value(pair[1], metric)


def _by_seed(levels: dict[str, Any], runs: list[Run]) -> dict[int, Run]:
    return {run["seed"]: run for run in runs if _has(run, levels)}


def _has(run: Run, levels: dict[str, Any]) -> bool:
    """Whether a run has these levels; what the command line gave as text is read as YAML."""
    given = {key: yaml.safe_load(text) for key, text in run["levels"].items()}
    return all(key in given and given[key] == level for key, level in levels.items())


def _name(levels: dict[str, Any]) -> str:
    return " ".join(str(level) for level in levels.values())
