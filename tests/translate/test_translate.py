import functools
import io
from pathlib import Path
from unittest.mock import create_autospec

import pytest
import torch
import yaml
from omegaconf import OmegaConf
from pytorch_lightning.plugins.precision import Precision

from ablate.data.scheme import Byte
from ablate.data.tokenizer import Tokenizers
from ablate.model import Model
from ablate.search import Search
from ablate.task import Task
from ablate.train.restore import Restored
from ablate.train.restore import translate as translate_lines


@pytest.fixture
def translate(call):
    """Translate by the command line; return exit status, standard output, standard error."""
    return functools.partial(call, "translate")


def echo(max_length):
    """A restored run whose search returns the tokens of the source."""
    tokenizers = Tokenizers.train(Byte(joint=True), (["a"], ["a"]))
    model, search, task = (create_autospec(kind, instance=True) for kind in (Model, Search, Task))
    search.side_effect = lambda model, src: src.tolist()
    config = OmegaConf.create({"batch": {"max_length": max_length}})
    return Restored(Path("run"), config, model, tokenizers, task, search, "cpu", Precision())


def text_of(lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def edit(run, change):
    path = run / "config.yaml"
    config = yaml.safe_load(path.read_text())
    change(config)
    path.write_text(yaml.safe_dump(config))


def test_one_translation_a_line_in_order(translate, finished, lines):
    status, out, err = translate(f"checkpoint={finished}", text=text_of(lines))
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == 3
    backwards = translate(f"checkpoint={finished}", "batch=2", text=text_of(lines[::-1]))[1]
    assert backwards.splitlines() == out.splitlines()[::-1]
    assert any(out.splitlines())


def test_a_translation_with_a_line_feed_stays_on_its_line():
    assert translate_lines(echo(9), ["a\nb", "", "c"]) == (["a b", "", "c"], [False] * 3)


@pytest.mark.parametrize(
    ("batch", "text", "expected"),
    [
        (1, [*["Hund"] * 3, "x" * 59, "ein", "y" * 400], ["2 lines", "line 4)"]),
        (64, ["", "die " * 100], ["1 lines ", "line 2)"]),
        (1, ["x" * 58, "", " "], []),
    ],
)
def test_lines_that_are_cut_are_counted_once(translate, finished, text, expected, batch):
    status, out, err = translate(f"checkpoint={finished}", f"batch={batch}", text=text_of(text))
    assert (status, len(out.splitlines())) == (0, len(text))
    warnings = [line for line in err.splitlines() if line.startswith("warning")]
    assert len(warnings) == bool(expected)
    assert all(word in err for word in expected)


def test_search_settings_can_be_replaced(translate, finished, lines):
    out = translate(f"checkpoint={finished}", "search.max_extra=0", "search.max_ratio=0")
    assert out == (0, "", "")
    arguments = [f"checkpoint={finished}", "search.max_extra=0", "search.max_ratio=0"]
    assert translate(*arguments, text=text_of(lines)) == (0, "\n\n\n", "")


def pickle_code(run):
    torch.save({"weights": io.StringIO}, run / "weights.pt")
    return "weights.pt"


def name_foreign_code(run):
    edit(run, lambda config: config["search"].update(_target_="os.system"))
    return "os.system"


def nest_aliases(run):
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [{f'*a{i - 1},' * 9}]" for i in range(1, 20))]
    (run / "config.yaml").write_text("\n".join(["search:", *(f"  {line}" for line in lines)]))
    return "config.yaml"


def link_vocabulary(run):
    elsewhere = run.with_name("elsewhere.json")
    (run / "tokenizer" / "joint.json").rename(elsewhere)
    (run / "tokenizer" / "joint.json").symlink_to(elsewhere)
    return "joint.json"


def link_weights(run):
    (run / "weights.pt").rename(run.with_name("elsewhere.pt"))
    (run / "weights.pt").symlink_to("../elsewhere.pt")
    return "weights.pt"


HARMS = (pickle_code, name_foreign_code, nest_aliases, link_vocabulary, link_weights)


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_unusable_runs_are_one_sentence(translate, run, seal_again, harm):
    message = harm(run)
    seal_again(run)  # or the seal would be what is named
    status, out, err = translate(f"checkpoint={run}")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def fewer_heads(run):
    edit(run, lambda config: config["model"].update(n_heads=1))
    return "config.yaml"


def other_piece(run):
    path = run / "tokenizer" / "joint.json"
    path.write_text(path.read_text().replace('"H"', '"h"'))
    return "joint.json"


def name_files_elsewhere(run):
    from ablate.record.files import seal, write_json

    write_json(run / "result.json", seal({"weights": "", "files": {"../x": ""}}))
    return "../x"


CHANGES = (name_files_elsewhere, fewer_heads, other_piece)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_was_changed_since_the_run_ended_is_named_and_not_used(translate, run, change):
    message = change(run)
    status, out, err = translate(f"checkpoint={run}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
