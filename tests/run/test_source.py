"""Whose code is part of the identity of a run, and whose version."""

import functools
import hashlib
import importlib
import sys

import pytest

from ablate.data.cache import key
from ablate.data.scheme import Word
from ablate.errors import UserError
from ablate.record import identity as source
from ablate.record.identity import closure, evaluation_parts, parts, source_hashes
from ablate.record.training import RecordFolder
from ablate.train.resolve import resolve

PROJECT = {
    "mine/__init__.py": "",
    "mine/parts/__init__.py": "",
    "mine/parts/norm.py": "class Norm: pass",
    "mine/helper.py": "SCALE = 1",
    "mine/unrelated.py": "SCALE = 1",
    "alone.py": "SCALE = 1",
    "spread/inside/part.py": "SCALE = 1",
}


def forget():
    for name in vars(source):
        if isinstance(cached := getattr(source, name), functools._lru_cache_wrapper):
            cached.cache_clear()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Write files of a user, and read them as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        importlib.invalidate_caches()
        forget()

    write(PROJECT)
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mine", "alone")]:
        del sys.modules[name]
    forget()


@pytest.mark.parametrize(
    ("importing", "changed"),
    [
        ({"mine/parts/norm.py": "x = 1"}, "mine/parts/norm.py"),
        ({"mine/parts/norm.py": "from mine.helper import SCALE"}, "mine/helper.py"),
        ({"mine/parts/norm.py": "from .. import helper"}, "mine/helper.py"),
        (
            {
                "mine/parts/norm.py": "from mine import *",
                "mine/__init__.py": "__all__ = ['helper']",
            },
            "mine/helper.py",
        ),
        ({"mine/parts/norm.py": "import_module('mine.helper')"}, "mine/helper.py"),
        ({"mine/parts/norm.py": "import_module('..helper', __package__)"}, "mine/helper.py"),
        ({"mine/parts/norm.py": "import spread.inside.part"}, "spread/inside/part.py"),
        ({"mine/__init__.py": "", "mine/parts/__init__.py": "import alone"}, "alone.py"),
        ({}, "mine/__init__.py"),
        (
            {"mine/parts/norm.py": "from mine.base import Base", "mine/base.py": "import alone"},
            "alone.py",
        ),
    ],
)
def test_all_code_of_the_user_that_a_component_executes_counts(project, importing, changed):
    project(importing)
    before = source_hashes(["mine.parts.norm.Norm"])
    project({"mine/unrelated.py": "SCALE = 2"})
    assert source_hashes(["mine.parts.norm.Norm"]) == before
    project({changed: f"{(importing | PROJECT).get(changed, '')}\nSCALE = 2"})
    assert source_hashes(["mine.parts.norm.Norm"]) != before
    assert "mine" not in sys.modules  # nothing is executed to find this out


@pytest.mark.parametrize(
    "init",
    [
        "from mine.impl import Thing",
        "WHERE = {'Thing': 'impl'}\ndef __getattr__(name):\n    return load(f'.{WHERE[name]}')",
    ],
)
def test_a_class_that_a_package_exports_from_another_module_is_followed(project, init):
    project({"mine/__init__.py": init, "mine/impl.py": "class Thing: pass"})
    assert closure(["mine.Thing"]) == {"mine", "mine.impl"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("callbacks", {"mine": {"_target_": "mine.parts.norm.Norm"}}),
        ("loss", {"base": {"_target_": "hydra.utils.get_class", "path": "mine.parts.norm.N"}}),
    ],
)
def test_a_component_counts_wherever_the_config_names_it(project, compose, key, value):
    config = compose("logger=none")
    config[key] = {**config[key], **value}
    assert "mine.parts.norm" in parts(config, "text")["modules"]


def test_a_logger_does_not_count_and_a_metric_counts_in_the_evaluation(project, compose):
    config = compose("logger=none")
    config.logger = {"_target_": "mine.parts.norm.Norm"}
    config.metric = {"mine": {"_target_": "mine.helper.Score"}}
    assert not any(name.startswith("mine") for name in parts(config, "text")["modules"])
    assert "mine.helper" in evaluation_parts(config, "training")["modules"]


@pytest.fixture
def installed(project, monkeypatch, tmp_path):
    """Install a package whose module imports another module, as pip would."""
    folder = tmp_path / "site-packages"
    monkeypatch.syspath_prepend(folder)

    def install(version, code="X = 1", name="theirs"):
        digest = hashlib.sha256(code.encode()).hexdigest()
        about = f"site-packages/{name.replace('-', '_')}-{version[0]}.dist-info"
        files = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}
        files |= {"RECORD": f"theirs/__init__.py,,\ntheirs/part.py,sha256={digest},9\n"}
        project({f"{about}/{file}": text for file, text in files.items()})

    project({"site-packages/theirs/__init__.py": "", "site-packages/theirs/part.py": "X = 1"})
    return install


@pytest.mark.parametrize("name", ["theirs", "of-another-name"])
def test_an_installed_package_counts_by_its_version_and_its_files(project, installed, name):
    def theirs(*arguments):
        installed(*arguments, name=name)
        return source_hashes(["theirs.part.Thing"])

    first = theirs("1.0")
    assert first.keys() == {"theirs"} and first["theirs"].startswith("1.0 ")
    project({"alone.py": "import theirs.part, os, json"})
    assert source_hashes(["alone.Thing"])["theirs"] == first["theirs"]
    assert closure(["alone.Thing"]) == {"alone", "theirs"}  # nothing of Python itself
    assert theirs("1.1") != first != theirs("1.0", "X = 2")
    assert theirs("1.0") == first


@pytest.mark.parametrize("how", ["without metadata", "editable"])
def test_an_installed_package_without_a_version_counts_by_its_code(
    project, installed, tmp_path, monkeypatch, how
):
    if how == "editable":  # the files lie outside the folder with the metadata
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "site-packages/theirs").rename(tmp_path / "elsewhere/theirs")
        monkeypatch.syspath_prepend(tmp_path / "elsewhere")
        installed("1.0")
    part = "elsewhere/theirs/part.py" if how == "editable" else "site-packages/theirs/part.py"
    before = source_hashes(["theirs.part.Thing"])
    project({part: "X = 2"})
    assert source_hashes(["theirs.part.Thing"]) != before


def test_the_source_is_read_before_a_component_is_imported(project, compose):
    """Otherwise a change in between would give a run the identity of code that it did not run."""
    text = (
        "from pytorch_lightning import Callback\nfrom pathlib import Path\n"
        "Path(__file__).write_text('')  # as if the user saved the file now\n"
        "class Quiet(Callback): pass\n"
    )
    project({"mine/quiet.py": text})
    executed = source_hashes(["mine.quiet"])
    project({})
    config = compose("logger=none", "+callbacks.quiet._target_=mine.quiet.Quiet")
    resolve(config)
    assert executed.items() <= parts(config, "text")["modules"].items()


CORPUS = """
from ablate.data import Corpus, Pairs
from mine import helper

class Own(Corpus):
    languages = None, None

    def read(self, split):
        return Pairs([helper.WORD], [helper.WORD])

    def fingerprint(self):
        return "the same file"
"""


@pytest.mark.parametrize("nested", [False, True])
def test_a_cache_of_tokens_depends_on_the_code_of_the_user_that_made_the_text(project, nested):
    def cache(text):
        project({"mine/corpus.py": CORPUS, "mine/helper.py": text})
        module = importlib.import_module("mine.corpus")
        corpus = module.Own()
        if nested:
            corpus.cleaner, module.Own.__module__ = module.helper.Cleaner(), "ablate.data"
        return key(corpus, Word(vocab_size=None, joint=True))

    texts = [f"WORD = 'word'\nclass Cleaner:\n    LENGTH = {n}" for n in (1, 2)]
    assert cache(texts[0]) != cache(texts[1])
    assert cache(texts[0]) == cache(texts[0])


@pytest.mark.parametrize("late", [True, False])
def test_a_run_fails_if_a_file_changed_before_it_was_imported(project, tmp_path, late):
    made = {"training": "x", "config": {}, "modules": source_hashes(["mine.helper"])}
    if not late:
        importlib.import_module("mine.helper")
    record = RecordFolder(tmp_path, made)
    (tmp_path / "mine/helper.py").write_text("SCALE = 2")  # while the run executes
    record.folder.mkdir()
    if late:
        importlib.import_module("mine.helper")
        with pytest.raises(UserError, match=r"mine\.helper"):
            record.finish("finished", {})
    else:
        assert record.finish("finished", {})["status"] == "finished"
