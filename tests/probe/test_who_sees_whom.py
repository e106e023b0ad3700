"""Recurrence and attention, near and far: what sees what, and what is broken is seen."""

import pytest

NOTHING, SOMETHING, SEEN = 1e-9, 1e-3, 1e-6
LAYERS = "model.n_layers=2"


@pytest.fixture
def probed(compose):
    from ablate.config.construct import construct
    from ablate.initial import initialise
    from ablate.model.base import build

    def run_probe(level, *overrides, **keys):
        given = [f"probe.{key}={value}" for key, value in {"draws": 1, "length": 5, **keys}.items()]
        sizes = ("model.d_model=16", "model.n_layers=1")
        config = compose("probe=who_sees_whom", f"model={level}", *sizes, *overrides, *given)
        model = build(config.model, src_vocab=30, tgt_vocab=30, joint_vocab=True)
        initialise(model, 1)
        probe = construct(config.probe)
        values = probe(model)
        assert values.keys() <= set(probe.measures)
        return values

    return run_probe


def test_recurrence_sees_one_side_or_both_and_the_order(probed):
    decoder, encoder = probed("rnn", stack="decoder"), probed("rnn", stack="encoder")
    assert decoder["later"] < NOTHING < SEEN < min(decoder["earlier"], encoder["other"])
    assert (
        min(decoder["order"], encoder["order"], encoder["later"], decoder["reset_control"])
        > SOMETHING
    )
    assert decoder["reset"] == 0


def test_attention_sees_all_that_its_mask_leaves(probed):
    encoder, decoder = probed("micro", stack="encoder"), probed("micro", stack="decoder")
    assert min(encoder[name] for name in ("other", "far", "skipping")) > SEEN
    assert max(encoder["order_largest"], encoder["score"], decoder["later"]) < NOTHING
    assert min(decoder["order"], encoder["score_control"], encoder["order_control"]) > SOMETHING
    assert encoder["weight"] > 0.5


@pytest.mark.parametrize("position", ["learned", "rotary"])
def test_positions_put_distance_into_scores(probed, position):
    metrics = probed("micro", position=position)
    assert min(metrics["score"], metrics["order"]) > SOMETHING
    assert metrics == probed("micro", position=position)  # the table is drawn from the seed


def test_recurrence_with_a_way_past_the_state_is_seen(probed, monkeypatch):
    from ablate.model.rnn import Layer

    plain = Layer.forward

    def leaking(self, x, states):
        out, end = plain(self, x, states)
        return out + x.roll(2, 1), end

    monkeypatch.setattr(Layer, "forward", leaking)
    assert probed("rnn", stack="decoder")["reset"] > SOMETHING


def test_a_gru_is_reset_and_a_second_layer_is_not(probed):
    gru, two = (probed("rnn", option, stack="decoder") for option in ("model.cell=gru", LAYERS))
    assert gru["reset"] == 0 < SOMETHING < gru["reset_control"]
    assert two["reset"] > SEEN


def test_scores_are_scaled_as_in_the_model(probed):
    scaled, plain = (probed("micro", f"model.attention.scale={s}") for s in ("d_head", "none"))
    assert plain["score_control"] == pytest.approx(4 * scaled["score_control"])  # d_head is 4
