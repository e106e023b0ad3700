"""Updates to a validation nll as a metric of a run."""

import pytest

from ablate.evidence.outcome import value

RUN = {"status": "finished", "metrics": {}, "curve": {"step": [100, 200], "val/nll": [3.0, 1.0]}}


def test_between_two_validations():
    assert value(RUN, "steps_to/nll_1.5") == 175


def test_a_run_that_never_gets_there_takes_all_its_updates():
    assert value(RUN, "steps_to/nll_0.5") == value(
        RUN | {"status": "collapsed"}, "steps_to/nll_0.5"
    )
    assert value(RUN, "steps_to/nll_0.5") == 200


def test_of_a_run_that_diverged_nobody_knows():
    assert value(RUN | {"status": "diverged"}, "steps_to/nll_2") == 150
    with pytest.raises(KeyError):
        value(RUN | {"status": "diverged"}, "steps_to/nll_0.5")
