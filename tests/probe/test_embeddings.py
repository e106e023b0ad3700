"""Embedding, output layer and vocabulary: what holds of each level, and what is broken is seen."""

import pytest
from torch.nn import functional as F

ENDS = 1e-9
TEXT = ["the cat sees dogs", "a dog sees the cats", "cats run", "the dogs see a cat"] * 3


@pytest.fixture
def probed(compose):
    from ablate.config.construct import construct
    from ablate.data.corpus import Corpus, Pairs
    from ablate.data.tokenizer import Tokenizers
    from ablate.initial import initialise
    from ablate.model.base import build
    from experiments.embedding_algebra.probe import Embeddings

    class Few(Corpus):
        languages, splits = ("en", "zz"), ("train", "test")

        def fingerprint(self):
            return ""

        def read(self, split):
            other = [line.replace("s", "z") for line in TEXT]
            return Pairs(other, TEXT if split == "train" else ["the cow"])

    def run_probe(embedding, tokenizer="word"):
        small = ("model.d_model=16", "model.n_heads=2", "model.n_layers=1")
        config = compose(f"model/embedding={embedding}", f"tokenizer={tokenizer}", *small)
        scheme = construct(config.tokenizer)
        scheme.vocab_size = None
        vocab = Tokenizers.train(scheme, Few().read("train")).tgt.size
        model = build(config.model, src_vocab=vocab, tgt_vocab=vocab, joint_vocab=True)
        initialise(model, 1)
        probe = Embeddings(draws=2, length=5, corpus=Few(), scheme=scheme, seed=0)
        values = probe(model)
        assert values.keys() == set(probe.measures)
        return values

    return run_probe


@pytest.mark.parametrize("embedding", ["separate", "tied_target", "tied_all"])
def test_what_holds_of_each_embedding(probed, embedding):
    metrics = probed(embedding)
    zero = ("lookup", "token", "sum", "width", "without_gradient", "frozen")
    assert max(abs(metrics[name]) for name in zero) < ENDS
    controls = ("lookup_control", "token_control", "sum_control", "width_control", "gradient")
    assert min(metrics[name] for name in (*controls, "behind", "builds_joint")) > 1e-3
    assert metrics["builds_apart"] == (0 if embedding == "tied_all" else 2)
    assert metrics["other_rows"] == (embedding != "separate")
    assert metrics["adam_rows"] == (embedding == "separate")


def test_only_words_are_a_closed_vocabulary(probed):
    words, characters = probed("separate"), probed("separate", "char")
    assert words["written_known"] == characters["written_known"] == characters["written_new"] == 1
    assert words["written_new"] == 0
    assert words["unknown"] == 0.5


def test_a_look_up_of_the_next_row_is_seen(probed, monkeypatch):
    plain = F.embedding
    monkeypatch.setattr(F, "embedding", lambda ids, rows: plain(ids, rows.roll(1, 0)))
    metrics = probed("separate")
    assert metrics["lookup"] > 1e-3
    assert metrics["without_gradient"] > 0
