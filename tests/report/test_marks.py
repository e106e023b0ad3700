"""Colours of states and of arms: seen on every paper."""

import colorsys

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ablate.report.content import ARM_COLOURS, MARKS

HUED = ("supported", "refuted", "mixed")  # the other states are grey
APART = 18.0  # degrees between the hue of an arm and that of a state
LUMINANCE = [0.2126, 0.7152, 0.0722]  # of linear red, green and blue


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(first, other):
    low, high = sorted(LUMINANCE @ linear(colour) + 0.05 for colour in (first, other))
    return high / low


def hue(colour):
    return 360 * colorsys.rgb_to_hsv(*to_rgb(colour))[0]


@pytest.mark.parametrize("colour", ARM_COLOURS)
def test_an_arm_is_seen_on_every_paper_and_has_no_hue_of_a_state(colour):
    assert min(contrast(colour, paper) for paper in ("#ffffff", "#0d1117")) >= 3
    for state in HUED:
        for state_colour in {MARKS[state].colour, MARKS[state].on_white, MARKS[state].on_black}:
            apart = abs(hue(colour) - hue(state_colour)) % 360
            assert min(apart, 360 - apart) >= APART, (state, state_colour)
    assert colorsys.rgb_to_hsv(*to_rgb(colour))[1] > 0.3  # nor grey
