"""The probe of edges: what is cut off stays, and another wiring is noticed."""

import pytest

NOTHING = 1e-12
SOMETHING = 1e-3
SMALL = dict(draws=1, length=4)
CUT = ("self_bypass", "cross_bypass", "beside_top", "embedding_bypass")


@pytest.fixture
def cut(measure):
    return lambda *overrides: measure("dataflow", *overrides, **SMALL)


@pytest.mark.parametrize("residual", ["post_ln", "pre_ln"])
def test_every_edge_of_a_transformer_is_where_the_figure_has_it(cut, residual):
    metrics = cut(f"model/residual={residual}")
    hidden = (*CUT, "later_words", "source_on_attention")
    assert all(metrics.pop(name) < NOTHING for name in hidden)
    assert min(metrics.values()) > SOMETHING  # controls, and what other readings would hide


def test_an_attention_that_reads_another_edge_is_noticed(cut, monkeypatch):
    from ablate.model.attention.multi_head import SelfAttention

    plain = SelfAttention.forward

    def leaking(self, x, at):
        return plain(self, x if at.memory is None else x + at.memory.states, at)

    monkeypatch.setattr(SelfAttention, "forward", leaking)
    metrics = cut()
    assert min(metrics["self_bypass"], metrics["source_on_attention"]) > SOMETHING
    assert metrics["cross_bypass"] < NOTHING
