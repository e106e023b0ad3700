"""The table of what every level learns has every level."""

from ablate.config.location import CONF
from lab.bench.learning import GROUPS, LEFT_OUT, sweeps


def test_every_level_of_the_model_is_run():
    asked = " ".join(sweep.overrides for sweep in sweeps())
    named = {word for choice in asked.split() for word in choice.partition("=")[2].split(",")}
    assert {path.stem for path in CONF.glob("model/*/*.yaml")} <= named
    assert {path.parent.name for path in CONF.glob("model/*/*.yaml")} <= {
        group.rpartition("/")[2] for group in GROUPS
    }


def test_what_is_left_out_is_there():
    for group, names in LEFT_OUT.items():
        assert all((CONF / group / f"{name}.yaml").exists() for name in names)
