"""Malformed input of every kind: one sentence that names it, status 2, and nothing left behind."""

import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def told(monkeypatch, capfd):
    """Call a command line in this process; return what it complained of, in its one line."""

    def call(main, *arguments):
        monkeypatch.setattr(sys, "argv", ["ablate", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        err = capfd.readouterr().err
        assert left.value.code == 2, err
        (line,) = err.splitlines()
        assert line.startswith("ablate"), err
        return line

    return call


@pytest.fixture
def complaint(told, small, tmp_path):
    """What `python -m ablate` says of a tiny run with these arguments."""
    from ablate.__main__ import main

    def call(*arguments, base=small):
        line = told(main, *base, *arguments)
        left = [p for p in (tmp_path / "results").rglob("*") if p.is_file()]
        assert [p for p in left if p.suffix != ".lock"] == []
        return line

    return call


CONFIG = [
    ("optimizer.lr=nan", "optimizer.lr=nan"),
    ("optimizer.lr=-1", "optimizer.lr=-1"),
    ("optimizer.lr=inf", "optimizer.lr=inf"),
    ("optimizer.betas=[0.9]", "optimizer.betas=[0.9]"),
    ("seed=-1", "seed=-1"),
    ("seed=99999999999999999999", "seed=99999999999999999999"),
    ("seed=1.5", "seed=1.5"),
    ("seed=", "seed="),
    ("replicate=-1", "replicate=-1"),
    ("data.seed=-1", "data.seed=-1"),
    ("data.n_train=0", "data.n_train is 0"),
    ("data.max_words=1000", "data.max_words is 1000"),
    ("data=null", "data=null"),
    ("threads=0", "threads=0"),
    ("patience=0", "patience=0"),
    ("checkpoint.save_every=-1", "checkpoint.save_every=-1"),
    ("test_splits=[nowhere]", "nowhere"),
    ("paths.results=", "paths.results="),
    ("paths.cache=/dev/null/x", "paths.cache=/dev/null/x"),
    ("trainer.devices=0", "trainer.devices=0"),
    ("trainer.precision=banana", "trainer.precision=banana"),
    ("trainer.strategy=banana", "trainer.strategy=banana"),
    ("trainer.max_steps=-5", "trainer.max_steps=-5"),
    ("trainer.val_check_interval=0", "trainer.val_check_interval=0"),
    ("tokenizer.vocab_size=-1", "tokenizer.vocab_size=-1"),
    ("tokenizer.vocab_size=5", "tokenizer.vocab_size is 5"),
    ("logger.project=x", "logger.project=x"),
    ("model.dropout=1.5", "model.dropout=1.5"),
    ("model.dropout.rate=1.5", "model.dropout.rate is 1.5"),
    ("model.n_heads=3", "model.n_heads is 3"),
    ("model.d_model=1000000000000", "model.d_model=1000000000000"),
    ("model.norm.eps=-1", "model.norm.eps=-1"),
    ("batch.tokens=0", "batch.tokens is 0"),
    ("search.size=1e99", "search.size=1e+99"),
    ("loss.epsilon=2.0", "loss.epsilon is 2.0"),
    ("budget.steps=${nowhere}", "nowhere"),
    ("name=日本", "name=日本"),
    ("name='a\\nb'", "name=a"),
    ("name=../x", "name=../x"),
    ("+experiment=nowhere", "experiment=nowhere"),
    ("optimizer._target_=torch.optim.Adum", "torch.optim.Adum"),
    ("batch=3", "batch=3"),
    ("trust=3", "trust=3"),
    ("foo", "foo"),
    ("=3", "=3"),
    ("seed=[1", "seed=[1"),
]


@pytest.mark.parametrize(("argument", "named"), CONFIG)
def test_arguments(complaint, argument, named):
    assert named in complaint(argument)


FILES = {
    "a syntax error": (b"model: [\n", "mine.yaml"),
    "a tab": (b"a:\n\tb: 3\n", "mine.yaml"),
    "no text": (b"\xff\xfe\x00", "mine.yaml"),
    "a NUL byte": (b"a: \x00\n", "mine.yaml"),
    "an unknown key": (b"# @package _global_\nseeed: 3\n", "seeed"),
}


@pytest.mark.parametrize("what", FILES)
def test_config_files(complaint, tmp_path, what):
    content, named = FILES[what]
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "mine.yaml").write_bytes(content)
    assert named in complaint("+experiment=mine", "--config-dir", str(tmp_path / "conf"))


def test_a_config_folder_that_does_not_exist(complaint):
    assert "/no/such" in complaint("--config-dir", "/no/such")


def bomb(path):
    path.write_bytes(gzip.compress(b"a" * (1 << 25)))


def zip_of_text(path):
    shutil.make_archive(str(path.parent / "packed"), "zip", path.parent)
    (path.parent / "packed.zip").rename(path)


CORPORA = {  # by what becomes of all.en: its ending, what is done, what is said
    "empty": ("", lambda p: p.write_bytes(b""), "is empty"),
    "blank": ("", lambda p: p.write_bytes(b"\n" * 40), "is empty"),
    "a line missing": ("", lambda p: p.write_bytes(b"a b\n" * 39), "39 lines"),
    "an empty line": ("", lambda p: p.write_bytes(b"a b\n" * 39 + b"\n"), "line 40 is empty"),
    "Latin-1": ("", lambda p: p.write_bytes(b"a \xe4\n" * 40), "not UTF-8"),
    "UTF-16": ("", lambda p: p.write_bytes("a b\n".encode("utf-16") * 40), "not UTF-8"),
    "missing": ("", lambda p: None, "holds none of all.en"),
    "a folder": ("", lambda p: p.mkdir(), "holds none of all.en"),
    "a link to nothing": ("", lambda p: p.symlink_to("nowhere"), "holds none of all.en"),
    "a link to itself": ("", lambda p: p.symlink_to(p.name), "holds none of all.en"),
    "an endless device": ("", lambda p: p.symlink_to("/dev/zero"), "holds none of all.en"),
    "a pipe": ("", lambda p: os.mkfifo(p), "holds none of all.en"),
    "no gzip": (".gz", lambda p: p.write_bytes(b"a b\n" * 40), "not a whole gzip file"),
    "half of a gzip": (
        ".gz",
        lambda p: p.write_bytes(gzip.compress(b"a b\n" * 40)[:-9]),
        "not a whole gzip file",
    ),
    "an empty gzip": (".gz", lambda p: p.write_bytes(gzip.compress(b"")), "is empty"),
    "a gzip bomb": (".gz", bomb, "unpacks to more than 100 times its size"),
    "a zip": (".gz", zip_of_text, "not a whole gzip file"),
}


@pytest.mark.parametrize("what", CORPORA)
def test_corpora(complaint, small, tmp_path, what):
    ending, spoil, words = CORPORA[what]
    prefix = tmp_path / "text" / "all"
    prefix.parent.mkdir()
    Path(f"{prefix}.de").write_bytes(b"c d\n" * 40)
    spoil(Path(f"{prefix}.en{ending}"))
    data = ("data=parallel", f"data.train={prefix}", "data.source=en", "data.target=de")
    sizes = ("data.validation_size=5", "data.test_size=5", "tokenizer=char")
    base = [argument for argument in small if not argument.startswith("data.")]
    line = complaint(*data, *sizes, base=base)
    assert "all.en" in line
    assert words in line
