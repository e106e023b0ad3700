"""Draw the README's picture from committed evidence: `python -m lab.picture`.

The left panel has the learning curves of both arms without warm-up in preln_vs_postln. The right
panel has the difference of each pair of runs, their mean with its interval, and the margin.
"""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.phrases import MARKS, percent
from ablate.record.files import write_text
from ablate.report.draw import INK, curve_table, line_styles, style, svg
from ablate.verdict.stored import read_verdict
from ablate.verdict.types import Entry
from ablate.words.answer import short_answer

FOLDER = Path(__file__).parents[1] / "experiments" / "preln_vs_postln"
PICTURE = Path("docs/images/first_answer.svg")
CLAIM = "preln_better_without_warmup"
SIDES = ("baseline", "treatment")
SIZE = (9.2, 3.5)  # inches: less than 900 pixels wide
BELOW = 0.3  # distance of the dots from the mean, where rows have a distance of 1


def picture() -> Figure:
    """Return the picture: both learning curves, and the differences of all pairs."""
    evidence = Evidence.load(FOLDER, statistics=False)
    claims = read_verdict(FOLDER / "verdict.json")["claims"]
    claim = next(claim for claim in claims if claim["id"] == CLAIM)
    with style():
        figure = Figure(figsize=SIZE, layout="constrained")
        curves, differences = figure.subplots(1, 2, width_ratios=(1, 1.05))
        _draw_training(curves, evidence, claim)
        _draw_differences(differences, claim)
        answer = f"Verdict: {short_answer(claim, claim).lower()}"
        figure.suptitle(f"Claim: {claim['statement']}\n{answer}", weight="bold", fontsize=10.5)
    return figure


def _draw_training(axes: Axes, evidence: Evidence, claim: Entry) -> None:
    """Draw the validation score of both arms during training, with the name of each arm."""
    names = {arm_label(claim[side]): claim[side] for side in SIDES}
    styles = line_styles(evidence.runs, names)
    for name, arm in names.items():
        levels = arm | claim["where"]
        runs = (run for run in evidence.runs if levels.items() <= run["levels"].items())
        seeds = curve_table({run["seed"]: run["curve"] for run in runs}, "val/bleu")
        mean = seeds.mean(axis=1)
        low, high, colour = seeds.min(axis=1), seeds.max(axis=1), styles[name]["color"]
        axes.plot(mean.index, mean, marker="o", **styles[name])
        axes.fill_between(mean.index, low, high, color=colour, alpha=0.18)
        end = (1.01, mean.iloc[-1])
        text = {"text": name, "color": colour, "va": "center"}
        axes.annotate(xy=end, xycoords=("axes fraction", "data"), **text)
    axes.set_xlabel("optimiser steps")
    axes.set_ylabel("validation BLEU")
    axes.set_title(f"Training: {claim['pairs']} seeds of each (mean and range)", weight="normal")


def _draw_differences(axes: Axes, claim: Entry) -> None:
    """Draw the difference of each pair, their mean with its interval, and the margin."""
    colour, effect, (low, high) = MARKS[claim["verdict"]].colour, claim["effect"], claim["interval"]
    pairs, arms = claim["differences"], [arm_label(claim[side]) for side in SIDES]
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.axvline(claim["margin"], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.plot(pairs, [-BELOW] * len(pairs), "o", color=colour, alpha=0.45, markersize=6)
    axes.plot([low, high], [BELOW] * 2, color=colour, linewidth=3)
    axes.plot(effect, BELOW, "o", color=colour, markersize=9)
    level = percent(1 - claim["alpha"])
    axes.text(low, 1.5 * BELOW, f"mean {effect:+.1f} ({level} % CI {low:.1f} to {high:.1f})")
    axes.text(low, -1.5 * BELOW, "each dot is one seed", va="top")
    axes.annotate(
        f"differences below\n{claim['margin']:g} do not matter",
        (claim["margin"], -1), (6, 2), textcoords="offset points",
    )  # fmt: skip
    axes.set_ylim(-1.05, 1.05)
    axes.set_xlim(-1, max(high, *pairs) + 1.5)
    axes.set_yticks([])
    axes.set_xlabel(f"{arms[1]} minus {arms[0]} in test BLEU (points)")
    axes.set_title("Test: difference of the two runs of each seed", weight="normal")


def main() -> None:
    """Write the picture, and print its path."""
    write_text(PICTURE, svg(picture()))
    print(f"picture: {PICTURE}")


if __name__ == "__main__":
    main()
