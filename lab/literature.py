"""Write a page that compares the verdicts of the modern screen with published results.

example:
  python -m lab.literature to=docs/explanation/literature.md
"""

import argparse
from collections.abc import Mapping
from math import inf
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import yaml

from ablate.config.screen import FACTOR
from ablate.evidence.folder import Evidence
from ablate.verdict.stored import read_verdict
from ablate.verdict.types import Entry
from lab.command import add_page, main, write_page

FIRST = "reading the verdicts of the screen"
SCREEN, PUBLISHED = Path("experiments/modern_screen"), Path("docs/explanation/literature.yaml")
# the gains that agree with a published result, in margins
GAINS = {"better": (0, inf), "the same": (-1, 1), "worse": (-inf, 0), "no worse": (-1, inf)}
HEAD = """\
# Agreement with the literature

Made by `python -m lab.literature to=docs/explanation/literature.md`; a test compares this page with
the verdicts. The experiment `modern_screen` compares variants of a small language model with one
baseline, which has GELU, LayerNorm and rotary positions. This page sets its verdicts beside
published results. Most sources trained models that are at least a hundred times larger, on other
text. Where a source compares with something else than the baseline here, its setting says so.
Changes are relative changes of the loss, so a negative change is an improvement. In brackets is the
95 % confidence interval over ten seeds (for deep_norm over the six seeds whose runs learned), which
is not corrected for the number of variants.

*Direction* says whether our interval agrees with the result of the source. If the source found the
variant better (or worse), it is *yes* if our whole interval is on the better (or worse) side of 0,
*no* if our whole interval is on the opposite side, and *open* if it contains 0. If the source found
no difference, it is *yes* if our whole interval is between minus the margin and the margin, *no* if
it is completely outside this range, and *open* otherwise. [The thirty sentences](modern.md) names
limits of these runs that may explain why a result is not confirmed.

"""


add_arguments = add_page


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    write_page(arguments, page)


class Gain(NamedTuple):
    """The fall of the loss by a variant, with its confidence interval."""

    effect: float
    low: float
    high: float


class Results(NamedTuple):
    """The results of a screen: the gain of each variant, the loss of its baseline, and its
    margin.
    """

    gains: Mapping[str, Gain]
    loss: float
    margin: float

    @classmethod
    def of(cls, folder: Path) -> "Results":
        """Return the results of the screen whose committed evidence is in a folder."""
        evidence = Evidence.load(folder, statistics=False)
        verdict = read_verdict(folder / "verdict.json")
        screen = evidence.study["screen"]
        assert screen is not None
        metric = screen["metric"]
        baseline = [run["metrics"][metric] for run in evidence.runs if run["arm"] == "baseline"]
        gains = {str(claim["treatment"][FACTOR]): _gain(claim) for claim in verdict["claims"]}
        return cls(gains, mean(baseline), screen["margin"])


def _gain(claim: Entry) -> Gain:
    """Return the gain that a claim about a variant has found, whichever direction it claims."""
    sign = 1 if claim["better"] == "lower" else -1
    effect = claim["effect"] or 0.0
    low, high = sorted(sign * end for end in claim["interval"] or (effect, effect))
    return Gain(sign * effect, low, high)


def page(screen: Path = SCREEN, published: Path = PUBLISHED) -> str:
    """Return the page as Markdown.

    Args:
        screen: folder of the screen's evidence.
        published: file with the published results.
    """
    literature = yaml.safe_load(published.read_text(encoding="utf-8"))
    results = Results.of(screen)
    papers = [_paper(paper, results) for paper in literature["papers"]]
    columns = ("Variant", "Source", "Setting", "Published", "Here", "Direction")
    return HEAD + _table(columns, papers)


def _paper(paper: Mapping[str, Any], results: Results) -> tuple[str, ...]:
    """Return the cells of a published result: variant, source, setting, both changes of the loss,
    and whether their directions agree.
    """
    name, published = paper["variant"], paper["published"]
    if "loss" in paper:
        before, after = paper["loss"]
        published += f", {100 * (after / before - 1):+.1f} %"
    gain = results.gains[name]
    direction = _compare_direction(paper["published"], gain, results.margin)
    here = _change(gain, results.loss)
    return name, paper["source"], paper["setting"], published, here, direction


def _change(gain: Gain, loss: float) -> str:
    """Return the relative change of the loss in percent, with its interval."""
    change, least, most = (-100 * x / loss for x in (gain.effect, gain.high, gain.low))
    return f"{change:+.1f} % ({least:+.1f} to {most:+.1f})"


def _compare_direction(published: str, gain: Gain, margin: float) -> str:
    """Return "yes" if the whole interval agrees with a published result, "no" if no part of it
    does, and otherwise "open".
    """
    least, most = (limit * margin for limit in GAINS[published])
    if least <= gain.low and gain.high <= most:
        return "yes"
    return "no" if gain.high < least or gain.low > most else "open"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main("lab.literature")
