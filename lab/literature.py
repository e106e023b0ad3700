"""Write a page that compares the verdicts of the modern screen with published results.

example:
  python -m lab.literature to=docs/explanation/literature.md
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from ablate.cli.parser import PATH, Parser
from ablate.config.screen import FACTOR
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Verdict
from ablate.record.files import write_text, writing
from ablate.report.draw.screen import Component, components
from ablate.verdict.decision import SUPPORTED, read_verdict
from lab.command import main

FIRST = "reading the verdicts of the screen"
SCREEN, RESULTS = Path("experiments/modern_screen"), Path("docs/explanation/literature.yaml")
CAPTIONS = Path("experiments/modern_second_corpus")
# the gains that agree with a published result, in margins
GAINS = {
    **{"better": (0, inf), "the same": (-1, 1), "worse": (-inf, 0)},
    **{"no better": (-inf, 1), "no worse": (-1, inf)},
}
HEAD = """\
# Agreement with the literature

Made by `python -m lab.literature to=docs/explanation/literature.md`; a test compares this page with
the verdicts. The experiment `modern_screen` compares variants of a small language model with one
baseline ([the thirty sentences](modern.md)). This page sets its verdicts beside published results.
Most sources trained models that are at least a hundred times larger, all of them on other text.
Because the sources measure the loss in other units, only the relative changes of the loss are
compared. A negative change is an improvement. In brackets is the 95 % confidence interval over ten
seeds (for deep_norm over the six seeds whose runs learned, and over three in the shorter training).
All variants are compared with the baseline here (GELU, LayerNorm, rotary positions); where a
source compares with something else, its setting says so.

## Papers

*Direction* says whether our interval agrees with the result of the source. If the source found the
variant better (or worse), it is *yes* if our whole interval is on the better (or worse) side of 0,
*no* if our whole interval is on the opposite side, and *open* if it contains 0. If the source found
no difference, it is *yes* if our whole interval is between minus the margin and the margin, *no* if
it is completely outside this range, and *open* otherwise. The intervals are not corrected for the
number of variants, so *Direction* may be *yes* although our claim is undecided after the
correction. *Size* is *yes* if our interval contains the published change. Otherwise our change is
better (*better here*) or worse (*worse here*) than the published one. Sizes agree only roughly at
best, since the sources have other text, other units and much longer training.

"""
EXPERIENCES = """
## Experiences

The log of nanochat describes single runs, without intervals. Its baseline has RMSNorm, squared ReLU
and Muon, and differs from the baseline here.

"""

DIFFERENCES = """
## Published results that are not confirmed here

These variants have a row in the first table whose *Direction* is not *yes*. To find out why, we
also compared them with the baseline in a separate, shorter training, and on English image captions
(only five variants, in the experiment `modern_second_corpus`). The last column gives suspected
reasons. If an experiment has tested a reason, the column names the experiment.

"""


def add_arguments(parser: Parser) -> None:
    """Declare the file of the page."""
    parser.add_key("to", "write the page there", PATH, required=True)


def run(arguments: argparse.Namespace) -> None:
    """Write the page from the committed verdicts."""
    with writing(arguments.to):
        write_text(arguments.to, page())
    print(f"page: {arguments.to}")


@dataclass(frozen=True)
class Results:
    """The results of a screen: its variants by name, the loss of its baseline, the number of
    training steps, the margin, and the variants that a supported claim shows to be better.
    """

    variants: Mapping[str, Component]
    loss: float
    steps: int
    margin: float
    superior: set[str]

    @classmethod
    def of(cls, evidence: Evidence, verdict: Verdict) -> "Results":
        """Return the results of a screen from its evidence and the verdicts on it."""
        screen = evidence.study["screen"]
        assert screen is not None
        metric = screen["metric"]
        baseline = [run["metrics"][metric] for run in evidence.runs if run["arm"] == "baseline"]
        supported = {
            claim["treatment"].get(FACTOR)
            for claim in verdict["claims"]
            if claim["verdict"] == SUPPORTED and claim["kind"] == "superiority"
        }
        variants = {variant.name: variant for variant in components(evidence, verdict)}
        return cls(
            variants=variants,
            loss=mean(baseline),
            steps=evidence.regime["steps"],
            margin=screen["margin"],
            superior={x for x in variants if x in supported and variants[x].effect > 0},
        )

    def cell(self, name: str) -> str:
        """Return what the verdict on a variant shows, and the relative change of the loss."""
        return _result(self.variants[name], self.loss) if name in self.variants else "-"


def page(screen: Path = SCREEN, captions: Path = CAPTIONS, results: Path = RESULTS) -> str:
    """Return the page as Markdown.

    Args:
        screen: folder of the screen's evidence.
        captions: folder of the evidence of the same variants on captions.
        results: file with the published results.
    """
    published = yaml.safe_load(results.read_text(encoding="utf-8"))
    long, short = _results(screen)
    papers = [
        _paper(paper, long.variants[paper["variant"]], long)
        for paper in published["papers"]
        if paper["variant"] in long.variants
    ]
    experiences = [*_experiences(published["experiences"], long)]
    budgets = f"{short.steps:,} steps", f"{long.steps:,} steps", f"Captions, {long.steps:,} steps"
    differences = [
        (
            name,
            ", ".join(dict.fromkeys(p[3].partition(",")[0] for p in papers if p[0] == name)),
            *(results.cell(name) for results in (short, long, _results(captions)[0])),
            published["reasons"][name],
        )
        for name in dict.fromkeys(paper[0] for paper in papers if paper[5] != "yes")
    ]
    columns = ("Variant", "Source", "Setting", "Published", "Here", "Direction", "Size")
    shown = ("Variant", "Published", *budgets, "Possible reasons")
    return (
        f"{HEAD}{_table(columns, papers)}"
        f"{DIFFERENCES}{_table(shown, differences)}"
        f"{EXPERIENCES}{_table(('Source', 'What it says', 'Here', 'Direction'), experiences)}"
    )


def _results(folder: Path) -> tuple[Results, Results]:
    """Return the results of a screen for its two numbers of training steps, the larger first."""
    evidence = Evidence.load(folder, statistics=False)
    verdict = read_verdict(folder / "verdict.json")
    short, claims = evidence.short, [claim for claim in verdict["claims"] if claim.get("short")]
    assert short is not None, f"{folder} has one number of steps"
    early: Any = {**verdict, "claims": [{**claim, **claim["short"]} for claim in claims]}
    return Results.of(evidence, verdict), Results.of(short, early)


def _paper(paper: Mapping[str, Any], variant: Component, results: Results) -> tuple[str, ...]:
    """Return the cells of a published result: variant, source, setting, both changes of the loss,
    and whether their directions and their sizes agree.
    """
    published, size = paper["published"], "-"
    if "loss" in paper:
        before, after = paper["loss"]
        change = after / before - 1
        published += f", {100 * change:+.1f} %"
        size = _compare_size(change, variant, results.loss)
    direction = _compare_direction(paper["published"], variant, results.margin)
    here = _result(variant, results.loss)
    return variant.name, paper["source"], paper["setting"], published, here, direction, size


def _result(variant: Component, loss: float) -> str:
    low, high = (100 * end for end in _change(variant, loss))
    return f"{variant.shows}, {-100 * variant.effect / loss:+.1f} % ({low:+.1f} to {high:+.1f})"


def _change(variant: Component, loss: float) -> tuple[float, float]:
    """Return the interval of the relative change of the loss."""
    low, high = variant.interval or (variant.effect, variant.effect)
    return -high / loss, -low / loss


def _compare_direction(published: str, variant: Component, margin: float) -> str:
    """Return "yes" if the whole interval agrees with a published result, "no" if no part of it
    does, and otherwise "open".
    """
    least, most = (limit * margin for limit in GAINS[published])
    low, high = variant.interval or (variant.effect, variant.effect)
    if least <= low and high <= most:
        return "yes"
    return "no" if high < least or low > most else "open"


def _compare_size(published: float, variant: Component, loss: float) -> str:
    """Return whether a published relative change of the loss is in the interval of this screen."""
    low, high = _change(variant, loss)
    if low <= published <= high:
        return "yes"
    return "better here" if published > high else "worse here"


def _experiences(
    experiences: list[Mapping[str, Any]], results: Results
) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each experience: source, what it says, the result here, and whether the
    directions agree.
    """
    variants, loss = results.variants, results.loss
    for experience in experiences:
        start = experience["source"], experience["says"]
        if "except" in experience:
            changes = variants.keys() - experience["except"]
            many = len(results.superior & changes)
            here = f"{many} of {len(changes)} variants are better in loss, after Holm's correction"
            yield *start, here, "-"
        elif experience.get("variant") in variants:
            variant = variants[experience["variant"]]
            direction = _compare_direction(experience["published"], variant, results.margin)
            yield *start, f"{variant.name}: {_result(variant, loss)}", direction
        elif {experience.get("first"), experience.get("second")} <= variants.keys():
            first, second = variants[experience["first"]], variants[experience["second"]]
            change = second.effect - first.effect
            here = (
                f"{first.name} has {abs(change):.3f} bits per byte "
                f"{'more' if change > 0 else 'less'} than {second.name} (estimates against the "
                "baseline; no claim compares the two)"
            )
            yield *start, here, "-"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main("lab.literature")
