"""The algebra of sinusoids: it holds of the component, and what is broken is seen."""

import pytest

ARGUMENTS = dict(draws=2, length=4, max_length=24, farthest=2000)
NOTHING, SOMETHING = 1e-9, 1e-3
LAWS = ("shift_float64", "product", "pair", "ratio", "rises", "spelling", "parity_columns", "paper")


@pytest.fixture
def probed(measure):
    def run_probe(level, *options, width=16):
        sizes = (f"model.d_model={width}", "model.n_heads=1")
        return measure("sinusoids", f"model/position={level}", *sizes, *options, **ARGUMENTS)

    return run_probe


@pytest.mark.parametrize("width", [2, 16])
def test_the_formula_of_the_paper_keeps_all_laws(probed, width):
    metrics = probed("sinusoidal", width=width)
    assert max(metrics[law] for law in LAWS) < NOTHING
    assert metrics["shift_float32"] < 1e-6 < metrics["shift_bfloat16"] < 0.005
    assert metrics["excess"] == metrics["same_float32"] == metrics["aperiodic_missing"] == 0
    assert (metrics["same_bfloat16"] > 0) == (width == 2)  # narrow ones coincide
    assert metrics["table_missing"] == 24
    assert min(metrics["sum"], metrics["index"], metrics["parity"]) > SOMETHING
    controls = {name for name in metrics if name.endswith("control")}
    moved = {name for name in controls if metrics[name] > SOMETHING}
    alone = {"pair_control", "ratio_control", "rises_control"} if width == 2 else set()
    assert controls - moved == {"paper_control", "relabelled_control", *alone}


def test_halves_rename_columns_and_other_frequencies_do_not(probed):
    halves, code = probed("sinusoidal_halves"), probed("sinusoidal_concat")
    assert max(halves["paper"], halves["relabelled"]) < NOTHING
    assert min(halves["paper_control"], halves["relabelled_control"]) > SOMETHING
    assert min(code["paper"], code["relabelled"]) > SOMETHING
    assert min(halves["pair"], halves["rises"]) > SOMETHING


def test_positions_that_repeat_are_seen(probed, monkeypatch):
    from ablate.model.position.added import Sinusoidal

    plain = Sinusoidal.formula
    monkeypatch.setattr(Sinusoidal, "formula", lambda self, at, d: 1.5 * plain(self, at % 20, d))
    metrics = probed("sinusoidal")
    assert metrics["excess"] == 0.5
    assert min(metrics["shift_float64"], metrics["product"]) > SOMETHING
