"""Define the colour and the mark of every verdict, for figures, web pages and the terminal.

The colours are those of Okabe and Ito (2008), which can be distinguished with every kind of colour
vision. Marks differ in shape as well. Words need more contrast than marks: the colours of words
have the same hue, with a contrast of at least 4.5 to 1 on white and on black. Arms have blues,
violets and yellows, which no verdict has.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """The symbol and the colours of a verdict."""

    colour: str  # colour of the mark, on white or black
    on_white: str  # colour of words on white
    on_black: str
    letter: str  # character with the shape of the mark, for a terminal
    marker: str = ""  # marker of matplotlib, for states that figures show


MARKS = {
    "supported": Mark("#009e73", "#00775a", "#2fc39b", "●", "o"),
    "refuted": Mark("#d55e00", "#b04500", "#f39257", "■", "s"),
    "inconclusive": Mark("#777777", "#5a6167", "#a9b1b8", "◆", "D"),
    "mixed": Mark("#cc79a7", "#96396f", "#e6a5ca", "◐"),
    "undecided": Mark("#777777", "#5a6167", "#a9b1b8", "◆"),
    "not testable": Mark("#777777", "#5a6167", "#a9b1b8", "–"),
    "not tested": Mark("#777777", "#5a6167", "#a9b1b8", "○"),
}

# Colours of arms. A figure has a single file for light and dark pages, so each colour has a
# contrast of at least 3 to 1 on both. The smallest distance between two colours was maximised for
# all kinds of colour vision.
ARM_COLOURS = ("#0072b2", "#b28a12", "#8c19ff", "#73661d", "#c266ff", "#999654")
INK = "#222"  # colour of text and axes
