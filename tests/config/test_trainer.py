"""A value of the trainer that Lightning would refuse or ignore is refused before any work."""

import pytest

from ablate.errors import UserError
from ablate.train.resolve import resolve


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("deterministic=banana", "warn"),
        ("devices=1.5", "valid integer"),
        ("devices=[0,1]", "int > 0"),
        ("max_steps=5", "set budget.steps=5"),
        ("limit_predict_batches=1", "data.n_test"),
        ("val_check_interval={hours: -1}", "longer than no time"),
        ("gradient_clip_algorithm=value", "gradient_clip_val"),
        ("strategy=ddp_spawn trainer.devices=2", "trainer.strategy=ddp"),
    ],
)
def test_a_value_that_cannot_work(compose, values, named):
    words = [f"trainer.{part}" for part in values.split(" trainer.")]
    with pytest.raises(UserError) as refused:
        resolve(compose(*(f"++{word}" for word in words)))
    assert words[0].partition("=")[0] in str(refused.value)
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        "gradient_clip_val=1.0 trainer.gradient_clip_algorithm=value",
    ],
)
def test_a_value_that_works(compose, values):
    words = [f"++trainer.{part}" for part in values.split(" trainer.")]
    assert resolve(compose(*words)).trainer is not None
