"""The third layer of an answer: what is behind it, by field."""

import pytest

from ablate.report.tables import details as named
from ablate.verdict.conclude import conclude


@pytest.fixture
def details(evidence, claim, run):
    """The details of a claim about runs of arms with these values, one seed each."""

    def make(values, **changes):
        runs = [
            run({"model.n_heads": arm}, seed, **{changes.get("metric", "test/bleu"): value})
            for arm, seeds in values.items()
            for seed, value in enumerate(seeds)
        ]
        asked = claim(**{"metric": "test/bleu", **changes})
        judged = evidence(runs, asked, factors=["model.n_heads"])
        (entry,) = conclude(judged)["claims"]
        return named(entry)

    return make


def test_an_estimate_is_the_treatment_without_the_baseline(details):
    arms = {"treatment": {"model.n_heads": 4}, "baseline": {"model.n_heads": 1}}
    values = {1: [3.0, 3.2, 3.1], 4: [1.0, 1.1, 1.3]}
    fields = details(values, **arms, metric="test/nll", better="lower", margin=0.0)
    assert fields["Estimate"] == "-1.967"  # the loss falls
    assert fields["Interval"].startswith("-2.")
    assert fields["Treatment"] == "4 heads [model.n_heads=4]"


@pytest.mark.parametrize("better", ["lower", "higher"])
@pytest.mark.parametrize(
    ("losses", "loss"),
    [
        ([0.9, 1.0, 1.1], "1 head: {}1.000; {}"),
        ([1.0, 1.0, 1.0], "1 head: {}1.000; it does not lose enough"),  # equal: no interval
    ],
)
def test_the_loss_of_a_control_has_the_sign_of_an_estimate(details, better, losses, loss):
    worse = 1 if better == "lower" else -1
    values = {
        8: [5.0, 5.1, 5.2],
        4: [5.0, 5.1, 5.2],
        1: [x + worse * y for x, y in zip([5.0, 5.1, 5.2], losses, strict=True)],
    }
    arms = {"treatment": {"model.n_heads": 8}, "baseline": {"model.n_heads": 4}}
    asked = {"kind": "non_inferiority", "margin": 0.1, "loses": {"model.n_heads": 1}}
    fields = details(values, **arms, **asked, metric="test/nll", better=better)
    sign = "+" if better == "lower" else "-"
    assert fields["Arm that must lose"].startswith(loss.format(sign, sign))


@pytest.mark.parametrize("values", [[0.0, None], [None, 0.0]])
@pytest.mark.parametrize("bound", [{"tolerance": 0.1}, {"margin": 0.1}], ids=str)
def test_no_tolerance_and_no_margin_supports_what_is_no_number(evidence, claim, run, values, bound):
    runs = [run({}, seed, **{"probe/x": value}) for seed, value in enumerate(values)]
    alone = {"kind": "exact", "metric": "probe/x", "treatment": {}, "baseline": {}, "margin": 0.0}
    (entry,) = conclude(evidence(runs, claim(**(alone | bound)), factors=[]))["claims"]
    assert entry["verdict"] == "refuted"
    assert [band["verdict"] for band in entry["sensitivity"]] == ["refuted"]
