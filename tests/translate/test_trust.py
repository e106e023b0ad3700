import sys

import pytest

from ablate.errors import UserError
from ablate.trust import check_targets


def config_with(target):
    return {"model": {"d_model": 3, "parts": [{"_target_": target, "eps": 1.0}]}}


@pytest.mark.parametrize("target", ["ablate.search.greedy.Greedy", "torch.nn.LayerNorm"])
def test_classes_of_trusted_packages_pass(target):
    assert check_targets(config_with(target), []) is None


@pytest.mark.parametrize(
    "target",
    [
        "os.system",
        "subprocess.Popen",
        "functools.partial",
        "builtins.eval",
        "torchvision.Thing",
        "torch.load",
        "torch.hub.load",
        "ablate.config_check.difflib.Differ",
        "ablate.restore.Path",
        "torch.os.system",
        "ablate",
        "",
        None,
        7,
    ],
)
def test_anything_else_is_refused(target):
    with pytest.raises(UserError, match=r"^model\.parts\.0\._target_ is .*ablate, torch, pytorch"):
        check_targets(config_with(target), [])


def test_a_class_that_does_not_exist_is_refused():
    with pytest.raises(UserError, match="which cannot be loaded: No module named 'ablate.nowhere'"):
        check_targets(config_with("ablate.nowhere.Thing"), [])


def test_a_package_can_be_trusted_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_parts.py").write_text("class Mine:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"trust=\[package\]"):
        check_targets(config_with("my_parts.Mine"), [])
    assert "my_parts" not in sys.modules
    assert check_targets(config_with("my_parts.Mine"), ["my_parts"]) is None
    with pytest.raises(UserError):
        check_targets(config_with("my_parts_2.Mine"), ["my_parts"])
