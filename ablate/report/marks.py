"""One colour and one mark for every state of a claim: in figures, reports, the site, a terminal.

The colours are of Okabe and Ito (2008), told apart with every kind of colour vision; marks differ
in shape as well. Words need more contrast than marks do: theirs are of the same hue, at least
4.5 to 1 on white and on black. Arms have blues, violets and yellows, which are no state's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ablate.verdict.replication import LOST, OPEN, REPRODUCED, WEAKER


@dataclass(frozen=True)
class Mark:
    """How a state looks."""

    colour: str  # of a mark, on white or black
    on_white: str  # of words
    on_black: str
    letter: str  # of the same shape, for a terminal
    marker: str = ""  # matplotlib's, of what a figure shows


MARKS = {
    "supported": Mark("#009e73", "#00775a", "#2fc39b", "●", "o"),
    "refuted": Mark("#d55e00", "#b04500", "#f39257", "■", "s"),
    "inconclusive": Mark("#777777", "#5a6167", "#a9b1b8", "◆", "D"),
    "mixed": Mark("#cc79a7", "#96396f", "#e6a5ca", "◐"),
    "undecided": Mark("#777777", "#5a6167", "#a9b1b8", "◆"),
    "not testable": Mark("#777777", "#5a6167", "#a9b1b8", "–"),
    "not tested": Mark("#777777", "#5a6167", "#a9b1b8", "○"),
}

# What fresh seeds made of a verdict: the sign between the first and the fresh one. It has the
# colour of text, since a refuted claim that is reproduced is good news of its verdict alone.
AGAIN = {REPRODUCED: "=", WEAKER: "≈", LOST: "≠", OPEN: "?"}

# Of arms: at least 3 to 1 on light and on dark paper, since a figure has one file for both. They
# were searched for the largest distance of any two, with every kind of colour vision.
ARM_COLOURS = ("#0072b2", "#b28a12", "#8c19ff", "#73661d", "#c266ff", "#999654")
ARMS = len(ARM_COLOURS)  # most in one panel


def style_names(dark: bool) -> str:
    """The colours as CSS declarations: `--supported` of words, `--supported-mark` of marks."""
    said = []
    for state, mark in MARKS.items():
        name = state.replace(" ", "-")
        said.append(f"--{name}: {mark.on_black if dark else mark.on_white};")
        said.append(f"--{name}-mark: {mark.on_black if dark else mark.colour};")
    return " ".join(said)


def arm_style() -> str:
    """The colours of arms as rules of CSS: `.arm-0`."""
    rules = (f".arm-{i} {{ color: {colour}; }}" for i, colour in enumerate(ARM_COLOURS))
    return " ".join(rules)


def panels(arms: Sequence[str]) -> list[list[str]]:
    """The arms in groups that one panel can show, of about equal size."""
    count = -(-len(arms) // ARMS)
    ends = [round(i * len(arms) / count) for i in range(count + 1)] if count else [0]
    return [list(arms[a:b]) for a, b in zip(ends, ends[1:], strict=False)]


def arm_colours(arms: Sequence[str]) -> dict[str, int]:
    """Return the number of each arm's colour, the same as in the figures of a report."""
    return {arm: number for panel in panels(arms) for number, arm in enumerate(panel)}
