"""Every leaf of conf/model and conf/loss: where its class lives and what its docstring says."""

import re
from importlib import import_module

import torch


def check_docstring(target):
    text = import_module(target.rpartition(".")[0]).__doc__
    for part in ("Equation:", "Source:", "What differs:", "What to expect:"):
        assert part in text, f"{target}: the module docstring has no {part}"
    assert re.search(r"arXiv:\d{4}\.\d{4,5}|doi:10\.", text), f"{target} cites no source"


def test_the_folder_mirrors_the_class(variant):
    assert variant.target.startswith(f"ablate.model.{variant.factor}.")


def test_the_docstring_cites_a_source(variant):
    check_docstring(variant.target)


def test_the_class_is_a_leaf_of_its_seam(variant):
    from hydra.utils import get_class

    # a part of another level may be that level but for what it leaves out
    above = [kind.__module__ for kind in get_class(variant.target).__mro__[1:3]]
    assert f"ablate.model.{variant.factor}.base" in above


def test_losses(loss_config):
    assert loss_config["_target_"].startswith("ablate.loss.")
    check_docstring(loss_config["_target_"])


def test_every_size_builds_on_the_meta_device(size_config):
    from ablate.model.build import build

    with torch.device("meta"):
        model = build(size_config, src_vocab=1000, tgt_vocab=1000, joint_vocab=True)
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert len(model.encoder.layers) == len(model.decoder.layers) == size_config.n_layers
