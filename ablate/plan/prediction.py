"""Plan the study that tests whether the gains of a study of combinations add up.

The study has fresh seeds and up to seven arms: the recipe of all first levels, the best recipe, and
the best recipe without each of its five largest changes.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ablate.config.combinations import DESIGN, Combinations, overrides_of
from ablate.config.labels import arm_label
from ablate.config.screen import FACTOR
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.stats.power import PlannedNoise
from ablate.verdict.designs import combined_results, design_of
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import LARGEST, SUPPORTED, Combined, PredictedPart, PredictedRecipe

FIRST, BEST = "first_levels", "best"  # arms
WITHIN = 0.3  # of the predicted gain: the margin
FEWEST, MOST = 3, 20  # seeds
FILE = re.compile(r"\+?\+?experiment=([\w./-]+)")
HEAD = """\
# @package _global_
# title: Do the gains of {name} add up?
# purpose: Test with fresh seeds the gain that {name} predicts for its best recipe.
"""


def prediction(evidence: Evidence) -> tuple[Combinations, Combined]:
    """Return the design of a study of combinations, and its results.

    Raises:
        UserError: the evidence is of another study or of a part, or predicts no gain.
    """
    if not evidence.study.get("design"):
        raise UserError(f"{evidence.name} is no study with study.design={DESIGN}")
    if evidence.is_part:
        raise UserError(f"{evidence.name}: these runs are a part of a study; use ablate join first")
    design, result = design_of(evidence), combined_results(evidence)
    if result is None or not result["best"]["parts"] or result["best"]["gain"] <= 0:
        raise UserError(
            f"{evidence.name}: no recipe is expected to be better than the first levels"
        )
    return design, result


def experiment_of(evidence: Evidence) -> str:
    """Return the experiment file that the command of a study chose."""
    words = shlex.split(evidence.registration.get("command", ""))
    names = [match[1] for word in words if (match := FILE.fullmatch(word))]
    if not names:
        raise UserError(f"{evidence.name}: its command names no experiment=FILE to build on")
    return names[-1]


def study_file(evidence: Evidence, design: Combinations, result: Combined) -> str:
    """Return the content of the experiment file of the study."""
    name, best, metric = f"{evidence.name}_prediction", result["best"], result["metric"]
    variants = {FIRST: best["first"], BEST: best["levels"]}
    variants |= {_without(part): part["levels"] for part in best["parts"][:LARGEST]}
    sets = {arm: overrides_of(design, levels) for arm, levels in variants.items()}
    first, seeds = evidence.study["seeds"], seeds_of(result)
    content = {
        "defaults": [experiment_of(evidence), "_self_"],
        "name": name,
        "budget": {"seeds": seeds},
        "study": {
            "design": None,
            "looks": 1,
            "factors": [FACTOR],
            "nuisance": [*dict.fromkeys(key.lstrip("+") for x in sets.values() for key in x)],
            "screen": {"metric": metric, "variants": sets},
            "claims": [*_claims(name, evidence.name, result)],
        },
        "hydra": {
            "sweeper": {
                "params": {FACTOR: ",".join(variants), "seed": f"range({first},{first + seeds})"}
            }
        },
    }
    return HEAD.format(name=evidence.name) + yaml.safe_dump(content, sort_keys=False, width=100)


def _without(part: PredictedPart) -> str:
    ((factor, _),) = part["level"].items()
    return f"without_{re.sub(r'[^A-Za-z0-9_]', '_', factor)}"


def _claims(name: str, source: str, result: Combined) -> Iterator[Mapping[str, object]]:
    """Yield the claim that gains add up, and for each change that it is worth its place."""
    best = result["best"]

    def common_fields(part: PredictedRecipe | PredictedPart) -> Mapping[str, object]:
        numbers = {"gain": _round(part["gain"]), "error": _round(part["error"])}
        return {
            "treatment": {FACTOR: BEST},
            "predicted": {**numbers, "df": round(best["df"], 1)},
            "source": f"ablate predict, from the runs of {source}",
            "metric": result["metric"],
            "better": result["better"],
        }

    yield {
        "id": f"{name}_gain",
        "statement": "The gains add up: the best recipe gains what its changes predict.",
        "kind": "equivalence",
        "margin": _round(WITHIN * best["gain"]),
        "margin_reason": f"{WITHIN:.0%} of the predicted gain",
        "baseline": {FACTOR: FIRST},
        **common_fields(best),
    }
    for part in best["parts"][:LARGEST]:
        yield {
            "id": f"{name}_{_without(part)}",
            "statement": f"In the best recipe, {arm_label(part['level'])} still gains.",
            "kind": "superiority",
            "baseline": {FACTOR: _without(part)},
            "plan_for": _round(part["gain"]),
            **common_fields(part),
        }


def seeds_of(result: Combined) -> int:
    """Return the number of seeds with which the claim that gains add up is supported with a
    probability of 0.8 if it is true, within the limits of `FEWEST` and `MOST`.
    """
    best, deviation = result["best"], result["run_deviation"]
    if not deviation:
        return MOST
    arms = 2 + len(best["parts"][:LARGEST])
    of_prediction = int(best["df"]) + 1, best["error"] ** 2
    noise = PlannedNoise(arms, 1.0, 2 * deviation**2, *of_prediction)
    claim: Any = {"kind": "equivalence", "margin": WITHIN * best["gain"], "plan_for": None}
    alpha = 0.05 / (1 + len(best["parts"][:LARGEST]))
    needed = KINDS["equivalence"].seeds_needed(claim, noise, alpha)[SUPPORTED]["seeds"]
    return min(MOST, max(FEWEST, needed or MOST))


def _round(value: float) -> float:
    return float(f"{value:.4g}")
