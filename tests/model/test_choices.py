"""Wrong choices end in one sentence; right ones do what they say."""

import pytest
import torch

WRONG = {
    "model.n_heads=3": "1, 2, 4, 8, 16",
    "model/position=rotary model.d_head=5": "model.d_head is 5",
    "model/attention=linear model/position=alibi": "model/attention=linear.*model/position",
    "model/attention=fixed_offset model.attention.offset=1": "offset is 1",
    "model/projections=none model.d_head=4": "projections=none",
}


@pytest.mark.parametrize("overrides", WRONG)
def test_a_wrong_choice_is_one_sentence_that_names_the_key(build_model, overrides):
    from ablate.errors import UserError

    with pytest.raises(UserError, match=WRONG[overrides]):
        build_model(*overrides.split())


@pytest.mark.parametrize(
    "part", ["position=recurrent", "attention=linear", "padding=none", "padding=rows"]
)
def test_a_state_of_its_own_cannot_go_on_from_a_source_in_front(build_model, part):
    from ablate.errors import UserError

    with pytest.raises(UserError):
        build_model(f"model/{part}", size="decoder_only").check_decoding()


@torch.no_grad()
def test_sinusoids_go_on_past_their_table(build_model):
    from ablate.model import Seq2Seq

    model = build_model().eval()
    long = torch.randint(4, 20, (1, 600))
    whole, start = model(Seq2Seq(long, long)), model(Seq2Seq(long, long[:, :9]))
    torch.testing.assert_close(whole[:, :9], start, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "site, attention",
    [
        ("residual", "fused"),
        ("feed_forward", "fused"),
        ("embedding", "fused"),
        ("attention", "fused"),
        ("attention", "explicit"),
    ],
)
def test_each_dropout_site_has_its_own_rate(build_model, batch, site, attention):
    off = ("model.dropout.rate=0.0", f"model/attention={attention}")
    still = build_model(*off)
    torch.testing.assert_close(still(batch), still(batch))
    model = build_model(*off, f"model.dropout.{site}=0.5")
    assert not torch.allclose(model(batch), model(batch))
    torch.testing.assert_close(model.eval()(batch), still.eval()(batch))


@pytest.mark.parametrize("level, matrices", [("separate", 3), ("tied_target", 2), ("tied_all", 1)])
def test_embeddings_share_what_they_say(build_model, level, matrices):
    embedding = build_model(f"model/embedding={level}").embedding
    assert sum(p.numel() for p in embedding.parameters()) == matrices * 20 * 16
    plain = build_model(f"model/embedding={level}", "model.embedding.scaled=false").embedding
    src, tgt = plain.embed_src(torch.tensor([[5]])), plain.embed_tgt(torch.tensor([[5]]))
    assert torch.equal(src, tgt) == (level == "tied_all")
    assert torch.equal(plain.output_weight()[5], tgt[0, 0]) == (level != "separate")
