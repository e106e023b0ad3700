"""Wrong values are refused before the classes of components, which import torch, are imported."""

import re
import sys
from typing import Any

import pytest

from ablate.config import CONF
from ablate.config.check import load
from ablate.config.construct import parameters
from ablate.config.limits import PLAIN, argument_types
from lab.keys import alternatives

TARGETS = sorted(
    {
        name
        for path in CONF.rglob("*.yaml")
        for name in re.findall(r"_target_: (\w[\w.]+)", path.read_text())
    }
)


def test_types_in_the_source_are_those_of_the_imported_classes():
    compared = 0
    for target in TARGETS:
        types = argument_types(target)
        for name, parameter in parameters(load("", target)).items():
            real, read = parameter.annotation, types.get(name, Any)
            kinds = [{*PLAIN}.intersection(alternatives(kind)) for kind in (read, real)]
            if read is Any or not kinds[1]:
                continue
            compared += 1
            assert kinds[0] == kinds[1], (target, name)
            limits = [getattr(kind, "__metadata__", ()) for kind in (read, real)]
            assert limits[0] == limits[1], (target, name)
    assert compared > 150


@pytest.mark.parametrize(
    ("word", "sweep"),
    [
        *(("optimizer.betas=x", ()), ("model.n_heads=x", ()), ("trainer.max_steps=x", ())),
        *(("search.size=2.5", ("seed=1,2", "-m")), ("data.n_train=x", ("seed=1,2", "-m"))),
    ],
)
def test_a_wrong_value_is_refused_before_torch_is_imported(command, monkeypatch, word, sweep):
    monkeypatch.setitem(sys.modules, "ablate.record.identity", None)  # importing it would fail
    status, _, error = command(word, *sweep)
    assert status == 2
    assert word.partition("=")[0] in error
