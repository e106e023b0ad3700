"""Draw heat maps with named axes and a colour bar, each within milliseconds.

matplotlib provides the colours and the font. Its axes are not used: with several hundred token
labels, drawing them would take a second per run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.font_manager import findfont
from PIL import Image, ImageDraw, ImageFont

FONT_SIZE = 17  # font size in pixels
LINE = 24
GAP = 8
BAR = 20  # width of the colour bar

Values = Float[np.ndarray, "rows columns"]
# Fraction of a text's width (left, middle, right) or height (top, middle) before its anchor.
SHIFT = {"l": 0.0, "t": 0.0, "m": 0.5, "r": 1.0}


@dataclass(frozen=True)
class Axis:
    """An axis of a heat map: its name with unit, labels by cell number, and the pixels per cell."""

    name: str
    labels: Mapping[int, str]
    cell: int

    @property
    def longest(self) -> int:
        """The width of the longest label in pixels."""
        return max(map(_length, self.labels.values()), default=0)

    @property
    def crowded(self) -> bool:
        """Whether neighbouring labels would overlap."""
        places = sorted(self.labels)
        steps = [after - before for before, after in zip(places, places[1:], strict=False)]
        return self.longest > min(steps, default=1) * self.cell


@dataclass(frozen=True)
class Scale:
    """A colour scale: name with unit, lowest and highest value, and a colour map of matplotlib."""

    name: str
    low: float
    high: float
    colours: str

    def paint(self, values: Values, width: int, height: int) -> Image.Image:
        """Return an image with a coloured rectangle for each value.

        Args:
            values: the values, a rectangle for each.
            width: width of a rectangle in pixels.
            height: height of a rectangle in pixels.
        """
        share = (values - self.low) / max(self.high - self.low, 1e-12)
        colours = matplotlib.colormaps[self.colours](share, bytes=True)[..., :3]
        return Image.fromarray(colours.repeat(height, axis=0).repeat(width, axis=1))


def heatmaps(
    title: str, panels: Mapping[str, Values], x: Axis, y: Axis, scale: Scale
) -> Image.Image:
    """Return an image of panels side by side, with one y axis and one colour bar.

    Args:
        title: title above all panels.
        panels: title and values of each panel; all have the same shape, rows along y, columns along
            x.
        x: the axis below each panel.
        y: the axis left of the first panel; row 0 is at the top.
        scale: colour scale.
    """
    rows, columns = next(iter(panels.values())).shape
    width, height = columns * x.cell, rows * y.cell
    left, top = LINE + y.longest + 2 * GAP, 2 * LINE + GAP
    below = top + height + (x.longest if x.crowded else LINE) + 3 * GAP
    right = left + len(panels) * (width + 2 * GAP)
    size = (right + BAR + _length("-0.00") + GAP + LINE, below + LINE)
    picture = Image.new("RGB", size, "white")
    _write(picture, title, (size[0] // 2, GAP // 2), "mt")
    _write(picture, y.name, (LINE // 2, top + height // 2), "mm", upwards=True)
    for row, label in y.labels.items():
        _write(picture, label, (left - GAP, top + int((row + 0.5) * y.cell)), "rm")
    for number, (name, values) in enumerate(panels.items()):
        start = left + number * (width + 2 * GAP)
        picture.paste(scale.paint(values, x.cell, y.cell), (start, top))
        _write(picture, name, (start + width // 2, top - LINE), "mt")
        _write(picture, x.name, (start + width // 2, below - GAP), "mt")
        for column, label in x.labels.items():
            place = (start + int((column + 0.5) * x.cell), top + height + GAP // 2)
            _write(picture, label, place, "mt", upwards=x.crowded)
    _draw_bar(picture, scale, (right, top), height)
    return picture


def _draw_bar(picture: Image.Image, scale: Scale, corner: tuple[int, int], height: int) -> None:
    left, top = corner
    middle = (scale.low + scale.high) / 2
    ramp = np.linspace(scale.high, scale.low, height)[:, None]
    picture.paste(scale.paint(ramp, BAR, 1), corner)
    for value, place in ((scale.high, top), (middle, top + height // 2), (scale.low, top + height)):
        _write(picture, f"{value:.2f}", (left + BAR + GAP // 2, place), "lm")
    outside = (picture.width - LINE // 2, top + height // 2)
    _write(picture, scale.name, outside, "mm", upwards=True)


def _write(
    picture: Image.Image,
    text: str,
    place: tuple[int, int],
    anchor: str,
    *,
    upwards: bool = False,
) -> None:
    letters = Image.new("L", (_length(text), LINE))
    ImageDraw.Draw(letters).text((0, LINE // 2), text, fill=255, font=_font(), anchor="lm")
    if upwards:
        letters = letters.rotate(90, expand=True)
    x, y = place
    x -= int(letters.width * SHIFT[anchor[0]])
    y -= int(letters.height * SHIFT[anchor[1]])
    picture.paste("black", (x, y), mask=letters)


@cache
def _length(text: str) -> int:
    return int(_font().getlength(text)) + 1


@cache
def _font() -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(findfont("DejaVu Sans"), FONT_SIZE)
