"""A run that cannot fit into memory names its largest numbers, in a sentence."""

import pytest
from omegaconf import OmegaConf

from ablate.errors import UserError
from ablate.train.memory import name_largest_numbers


@pytest.mark.parametrize(
    "word",
    [
        "model.d_ff=1000000000000000",
        "tokenizer.vocab_size=999999999999999999",
    ],
)
def test_the_largest_number_is_named(command, small, word):
    status, _, complaint = command(*small, word)
    assert (status, complaint.count("\n")) == (2, 1)
    assert word.partition("=")[0].rpartition(".")[2] in complaint


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("CUDA out of memory"), OverflowError]
)
def test_shortages(error):
    config = OmegaConf.create(
        {"seed": 10**18, "split_seed": 10**17, "a": {"b": 10**12, "c": "${a.b}"}, "d": 2, "e": True}
    )
    refused = pytest.raises(UserError, match=r"make a.b=1000000000000 or d=2 smaller")
    with refused, name_largest_numbers(config):
        raise error


def test_other_errors_stay(compose):
    with pytest.raises(RuntimeError, match="shapes"), name_largest_numbers(compose()):
        raise RuntimeError("shapes do not match")
