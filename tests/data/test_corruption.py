"""What the tasks that corrupt texts show of them, and what they ask for."""

import numpy as np
import pytest

from ablate.data import BOS, EOS, PAD, UNK
from ablate.task.texts import Denoising, MaskedLanguageModel

LINES = np.arange(400)


@pytest.fixture
def texts():
    """400 texts of 1 to 20 tokens, as a loader gives them."""
    random = np.random.default_rng(0)
    ids = random.integers(4, 1000, (400, 21))
    for row, length in zip(ids, random.integers(1, 21, 400), strict=True):
        row[length] = EOS
        row[length + 1 :] = PAD
    return ids


def draw(line):
    return np.random.default_rng([1, 0, line])


@pytest.fixture
def masking():
    task = MaskedLanguageModel(share=0.15, masked=0.8, random=0.1)
    task.vocabulary = 1000
    return task


def test_a_masked_text_asks_for_15_percent_of_its_tokens_of_which_80_are_hidden(texts, masking):
    batch = masking.batch(texts, texts, LINES, draw)
    seen, asked = batch.inputs.tokens.numpy(), batch.targets.numpy()
    chosen = asked != PAD
    assert (asked[chosen] == texts[chosen]).all()
    assert (seen[~chosen] == texts[~chosen]).all()
    assert not (chosen & (texts == EOS)).any()
    counts = ((texts != PAD) & (texts != EOS)).sum(1)
    assert (chosen.sum(1) == np.maximum(1, [round(0.15 * int(n)) for n in counts])).all()
    hidden, same = seen[chosen] == UNK, seen[chosen] == texts[chosen]
    assert abs(hidden.mean() - 0.8) < 0.05
    assert abs(same.mean() - 0.1) < 0.05
    assert (seen[chosen][~hidden] >= 4).all()


def test_a_noisy_text_lacks_30_percent_in_spans_of_three(texts):
    batch = Denoising(share=0.3, span=3.0).batch(texts, texts, LINES, draw)
    source, target_in = (ids.numpy() for ids in batch.inputs)
    assert (batch.targets.numpy() == texts).all()
    assert (target_in[:, 0] == BOS).all()
    missing = wanted = masks = 0
    for noisy, text in zip(source, texts, strict=True):
        whole = text[: text.tolist().index(EOS)].tolist()
        shown = noisy[: noisy.tolist().index(EOS)].tolist()
        left = [token for token in shown if token != UNK]
        rest = iter(whole)
        assert all(token in rest for token in left)  # in their order
        assert len(shown) + 1 <= Denoising(share=0.3, span=3.0).longest(0, len(whole) + 1)[0]
        missing += len(whole) - len(left)
        wanted += len(whole) * 0.3
        masks += len(shown) - len(left)
    assert 0.95 < missing / wanted < 1.25  # shares are rounded up, and empty spans use up one token
    assert 1.2 < missing / masks < 3  # cut where the share of a short text ends


@pytest.mark.parametrize("kind", ["masking", "denoising"])
def test_what_a_line_draws_depends_on_the_line_alone(texts, masking, kind):
    task = masking if kind == "masking" else Denoising(share=0.3, span=3.0)
    whole = task.batch(texts, texts, LINES, draw)
    some = np.array([7, 300, 5])
    part = task.batch(texts[some], texts[some], some, draw)
    for a, b in zip(whole.inputs, part.inputs, strict=True):
        assert (a[some][:, : b.size(1)] == b).all()
    other = task.batch(texts, texts, LINES, lambda line: np.random.default_rng([1, 1, line]))
    assert (whole.inputs[0] != other.inputs[0][:, : whole.inputs[0].size(1)]).any() or (
        whole.inputs[0].shape != other.inputs[0].shape
    )
