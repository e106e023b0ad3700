"""Say what a study of combinations found about all its factors, and what its predictions became."""

from ablate.config.labels import arm_label
from ablate.metric.table import metric_of
from ablate.phrases import listed
from ablate.report.draw.combined import Expected
from ablate.stats.combinations.prediction import LARGEST
from ablate.stats.means import t_quantile
from ablate.verdict.designs import LEVEL
from ablate.verdict.types import Combined, Verdict


def sentences(result: Combined) -> list[str]:
    """Return sentences on noise, interactions and the best recipe."""
    say, lines = metric_of(result["metric"]).say, []
    low, high = result["interaction_interval"]
    if result["interaction"] is not None and result["run_deviation"] is not None:
        ends = f"{say(low)} to {say(high)}" if high is not None else "no upper limit"
        lines += [
            f"Two runs of a recipe vary by {say(result['run_deviation'])} (standard deviation). "
            f"Recipes vary around the sum of their effects by {say(result['interaction'])} "
            f"(95 % CI {ends}). The sum explains {100 * (result['share'] or 0.0):.0f} % of "
            "the variance between recipes."
        ]
    best = result["best"]
    lines += [
        f"The best recipe has {arm_label(best['levels'])}. If gains add up, it is better than the "
        f"first levels by {say(best['gain'])} ± {say(best['error'])} (standard error)."
    ]
    if missing := [arm_label(level) for level in result["unestimated"]]:
        lines += [f"Too few runs that learned determine the effect of {listed(missing)}."]
    return lines


def expected(result: Combined) -> list[Expected]:
    """Return the predicted gains of the best recipe, and without each of its largest changes."""
    best = result["best"]
    gains = [("the best recipe", best["gain"], best["error"])] + [
        (f"without {arm_label(part['level'])}", part["rest"], part["rest_error"])
        for part in best["parts"][:LARGEST]
    ]
    quantile = -t_quantile((1 - LEVEL) / 2, best["df"])
    return [Expected(name, gain, quantile * error) for name, gain, error in gains]


def reached(verdict: Verdict) -> list[Expected]:
    """Return the predicted and the reached gain of each claim with a prediction."""
    rows = []
    for claim in verdict["claims"]:
        if (predicted := claim.get("predicted")) and claim["effect"] is not None:
            shift = predicted["gain"] if claim["kind"] == "equivalence" else 0.0
            ends = [end + shift for end in claim["interval"] or ()]
            half = -t_quantile((1 - LEVEL) / 2, predicted["df"]) * predicted["error"]
            name = f"{arm_label(claim['treatment'])} against {arm_label(claim['baseline'])}"
            rows.append(Expected(name, predicted["gain"], half, claim["effect"] + shift, ends))
    return rows
