"""Define the colour and the mark of every verdict, for figures, web pages and the terminal.

The colours are those of Okabe and Ito (2008), which can be distinguished with every kind of colour
vision. Marks differ in shape as well. Arms have blues, violets and yellows, which no verdict has.
"""

from typing import NamedTuple


class Mark(NamedTuple):
    """The symbol and the colour of a verdict."""

    colour: str  # on white or black
    letter: str  # character with the shape of the mark, for a terminal
    marker: str = ""  # marker of matplotlib, for states that figures show


MARKS = {
    "supported": Mark("#009e73", "●", "o"),
    "refuted": Mark("#d55e00", "■", "s"),
    "inconclusive": Mark("#777777", "◆", "D"),
    "mixed": Mark("#cc79a7", "◐"),
    "undecided": Mark("#777777", "◆"),
    "not testable": Mark("#777777", "–"),
    "not tested": Mark("#777777", "○"),
}

# Colours of arms. A figure has a single file for light and dark pages, so each colour has a
# contrast of at least 3 to 1 on both. The smallest distance between two colours was maximised for
# all kinds of colour vision.
ARM_COLOURS = ("#0072b2", "#b28a12", "#8c19ff", "#73661d", "#c266ff", "#999654")
INK = "#222"  # colour of text and axes
