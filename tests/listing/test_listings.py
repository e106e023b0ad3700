"""Printed listings: what may run, what an exam sees, and that patches fit the text."""

from pathlib import Path

import pytest

from ablate.errors import UserError
from experiments.listings.child import attempt, refuse, surroundings
from experiments.listings.exams import EXAMS
from experiments.listings.source import names, read, source, text

DOCUMENTS = Path(__file__).parents[3] / "shared" / "documents"
at_hand = pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the documents are not at hand")

# ours, not a document's: a layer norm by the formula, with what tutorials get wrong as a blank
NORM = """
class Mine(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.eps = 1e-6
        self.gain, self.bias = (nn.Parameter(torch.ones(width)) for _ in range(2))
    def forward(self, x):
        size = x.var(-1, keepdim=True, correction={}) + self.eps
        return self.gain * (x - x.mean(-1, keepdim=True)) / size.sqrt() + self.bias
"""
ATTENTION = """
def mine(q, k, v, mask=None):
    scores = q @ k.mT / q.size(-1) ** 0.5
    if mask is not None:
        {}scores.masked_fill(mask == {}, -1e9)
    return scores.softmax(-1) @ v, None
"""


@pytest.fixture
def tried():
    import torch

    before, threads = torch.get_default_dtype(), torch.get_num_threads()
    given = surroundings()

    def attempted(code, exam, defines, **options):
        return attempt(code, given, EXAMS[exam], defines=defines, options=options, draws=3, seed=1)

    yield attempted
    torch.set_default_dtype(before)
    torch.set_num_threads(threads)


@at_hand
@pytest.mark.parametrize("name", names())
def test_the_text_is_that_of_its_digest_and_patches_fit_into_it(name):
    listing = read(name)
    printed = text(listing, DOCUMENTS)
    for patch in listing.patches:
        first, last = patch.columns
        assert 0 <= first < last <= len(printed[patch.line - listing.lines[0]])
    compile(source(listing, DOCUMENTS, "repaired"), name, "exec")


def test_no_text_with_the_digest_nothing_runs(tmp_path):
    (tmp_path / "other.txt").write_text("print('mine')\n" * 2000)
    with pytest.raises(UserError, match="mt_norm"):
        source(read("mt_norm"), tmp_path, "printed")


@pytest.mark.parametrize("event", ["socket.connect", "subprocess.Popen", "ctypes.dlopen"])
def test_network_and_processes_are_refused(event):
    with pytest.raises(PermissionError, match=event):
        refuse(event, ())


def test_files_may_be_read_but_not_written():
    refuse("open", ("a", "r", 0))
    refuse("open", ("a", None, 0))
    with pytest.raises(PermissionError):
        refuse("open", ("a", "w", 0))


def test_an_exam_sees_an_unbiased_deviation(tried):
    right = tried(NORM.format(0), "norm", "Mine", eps_outside=False)
    wrong = tried(NORM.format(1), "norm", "Mine", eps_outside=False)
    assert max(right["gap"], right["torch"]) < 1e-9
    assert min(wrong["gap"], right["perturbed"]) > 0.01


def test_an_exam_sees_a_mask_without_effect_and_which_value_hides(tried):
    zero = tried(ATTENTION.format("scores = ", 0), "attention", "mine")
    hides_one = tried(ATTENTION.format("scores = ", 1), "attention", "mine")
    dropped = tried(ATTENTION.format("", 0), "attention", "mine")
    assert zero["gap"] < 1e-9 and zero["masked_gap"] < 1e-9
    assert (zero["hides"], hides_one["hides"]) == (0, 1)
    assert dropped["mask_effect"] == 0 and dropped["masked_gap"] > 0.1
    assert "hides" not in dropped
