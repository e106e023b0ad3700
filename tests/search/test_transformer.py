"""The searches on the real model: its caches, its padding, its batches."""

import pytest
import torch

from ablate.data import BOS, EOS, PAD
from ablate.initial import initialise
from ablate.model import Seq2Seq, build
from ablate.search import Greedy
from ablate.search.beam import Beam
from experiments.parallel_decoding.search import Jacobi

VOCABULARY = 300


@pytest.fixture(scope="module", params=["post_ln", "pre_ln"])
def model(request):
    import hydra

    from ablate.config import CONF

    sizes = ["model.d_model=16", "model.d_ff=32", "model.n_layers=1", "model.n_heads=2"]
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", [*sizes, f"model/residual={request.param}"])
    built = build(config.model, src_vocab=VOCABULARY, tgt_vocab=VOCABULARY, joint_vocab=True)
    initialise(built, 1)
    # float64: rounding, which may depend on the batch, then decides nothing
    return built.double().eval()


@pytest.fixture(scope="module")
def src():
    ids = torch.randint(4, VOCABULARY, (6, 8), generator=torch.Generator().manual_seed(1))
    for row in range(6):
        ids[row, row + 1] = EOS
        ids[row, row + 2 :] = PAD
    return ids


def test_greedy_follows_the_parallel_pass(model, src):
    translations = Greedy(max_ratio=1.5, max_extra=20)(model, src)
    for row, ids in zip(src, translations, strict=True):
        tgt = torch.tensor([[BOS, *ids]])
        logits = model.head(model(Seq2Seq(row[None], tgt)))[0, :, EOS:]
        best = (logits.argmax(-1) + EOS).tolist()
        assert best[: len(ids)] == ids
    assert Beam(size=1, length_penalty=0.0, max_ratio=1.5, max_extra=20)(model, src) == translations
    assert max(map(len, translations)) > 16  # longer than the first block of the caches


class Counted:
    """A model that counts its passes over whole sequences."""

    def __init__(self, model):
        self.model, self.head, self.passes = model, getattr(model, "head", None), 0

    def start(self, src, beams):
        raise AssertionError("not a search by steps")

    step = start

    def __call__(self, inputs):
        self.passes += 1
        return self.model(inputs)


@pytest.mark.parametrize("settings", [(1.5, 20), (0, 3), (0, 0), (1, 1)])
def test_jacobi_finds_what_greedy_finds(model, src, settings):
    ratio, extra = settings
    by_word = Greedy(max_ratio=ratio, max_extra=extra)
    greedy = by_word(model, src)
    limits = by_word.limits(src).tolist()
    ended = [min(len(ids) + 1, limit) for ids, limit in zip(greedy, limits, strict=True)]
    assert by_word.steps.tolist() == ended or extra < 1
    counted = Counted(model)
    assert Jacobi(max_ratio=ratio, max_extra=extra)(counted, src) == greedy
    assert counted.passes <= int(1.5 * 6 + 20)
    assert Jacobi(max_ratio=ratio, max_extra=extra)(model, src.flip(0)) == greedy[::-1]
