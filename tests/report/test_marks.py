"""Colours of states and of arms: seen on every paper, and told apart by everybody."""

import colorsys
import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ablate.report.marks import ARM_COLOURS, MARKS

HUED = ("supported", "refuted", "mixed")  # the other states are grey
APART = 18.0  # degrees between the hue of an arm and that of a state
TOLD = 18.0  # distance in Lab of two arms; Okabe and Ito's colours have 16
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
WHITE = [0.9505, 1.0, 1.089]
# what is seen of linear red, green and blue: Machado et al. 2009, table 1, severity 1
SIGHT = {
    "usual": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.01182, 0.04294, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
               [0.004733, 0.691367, 0.3039]],
}  # fmt: skip


def papers():
    """The background of a report on a light page, and on a dark page."""
    return ["#ffffff", "#0d1117"]


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(first, other):
    low, high = sorted(XYZ[1] @ linear(colour) + 0.05 for colour in (first, other))
    return high / low


def lab(colour, sight):
    light = np.clip(np.array(SIGHT[sight]) @ linear(colour), 0, 1)
    share = np.array(XYZ) @ light / WHITE
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def hue(colour):
    return 360 * colorsys.rgb_to_hsv(*to_rgb(colour))[0]


@pytest.mark.parametrize("colour", ARM_COLOURS)
def test_an_arm_is_seen_on_every_paper_and_has_no_hue_of_a_state(colour):
    assert min(contrast(colour, paper) for paper in papers()) >= 3
    for state in HUED:
        for state_colour in {MARKS[state].colour, MARKS[state].on_white, MARKS[state].on_black}:
            apart = abs(hue(colour) - hue(state_colour)) % 360
            assert min(apart, 360 - apart) >= APART, (state, state_colour)
    assert colorsys.rgb_to_hsv(*to_rgb(colour))[1] > 0.3  # nor grey


@pytest.mark.parametrize("sight", SIGHT)
def test_two_arms_are_told_apart_with_every_colour_vision(sight):
    for first, other in itertools.combinations(ARM_COLOURS, 2):
        assert np.linalg.norm(lab(first, sight) - lab(other, sight)) >= TOLD, (first, other)
