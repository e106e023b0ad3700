"""Malformed input of every kind: one sentence that names it, status 2, and nothing left behind.

`pytest -m slow -n 0 -rP tests/faults/test_malformed.py | grep '^|'` prints the table.
"""

import copy
import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from omegaconf import open_dict

from .conftest import TINY

pytestmark = pytest.mark.slow


@pytest.fixture
def error_lines(monkeypatch, capfd):
    """Call a command line in this process; return the lines that it complained in."""

    def call(main, *arguments):
        monkeypatch.setattr(sys, "argv", ["ablate", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        err = capfd.readouterr().err
        assert left.value.code == 2, err
        assert "Traceback" not in err
        lines = err.splitlines()
        assert lines[-1].startswith("ablate"), err
        print("|", lines[-1])
        return lines

    return call


@pytest.fixture
def complaint(error_lines, small, tmp_path):
    """What `python -m ablate` says of a tiny run with these arguments."""
    from ablate.__main__ import main

    def call(*arguments, base=small):
        *before, line = error_lines(main, *base, *arguments)
        assert all(earlier.startswith("mine: ") for earlier in before)  # progress of a sweep
        left = [p for p in (tmp_path / "results").rglob("*") if p.is_file()]
        begun = "-m" in arguments  # a sweep is registered before its cells are checked
        assert [
            p for p in left if p.suffix != ".lock" and not (begun and "runs" not in p.parts)
        ] == []
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
    ("data.n_train=0", "data.n_train=0"),
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
    ("batch.tokens=0", "batch.tokens=0"),
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
    "a byte-order mark": (b"\xef\xbb\xbf# @package _global_\nseed: 3\n", "byte-order mark"),
    "Latin-1": (b"# @package _global_\nname: b\xf6se\n", "0xf6"),
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


STUDY = {
    "name": "mine",
    "study": {
        "factors": ["model/residual"],
        "claims": [
            {
                **{"id": "a", "statement": "It is.", "source": "a book", "kind": "superiority"},
                **{"metric": "test/bleu", "margin": 1.0, "margin_reason": "less is nothing"},
                "treatment": {"model/residual": "pre_ln"},
                "baseline": {"model/residual": "post_ln"},
            }
        ],
    },
    "hydra": {"sweeper": {"params": {"model/residual": "post_ln,pre_ln", "seed": "0,1"}}},
}
NAN = float("nan")
TUNE = {"key": "optimizer.lr", "values": [0.1, 0.2], "seeds": [9]}
# What of the claim is another, and what is named.
CLAIMS = [
    ({"margin": NAN}, "margin"),
    ({"margin": float("inf")}, "margin"),
    ({"margin": -1}, "margin"),
    ({"margin": "big"}, "margin"),
    ({"margin_reason": ""}, "margin_reason"),
    ({"kind": "equivalence", "margin": 0}, "margin"),
    ({"kind": "better"}, "kind=better"),
    ({"kind": None}, "kind"),
    ({"kind": "trend", "over": "model/residual", "treatment": {}, "baseline": {}}, "trend"),
    ({"metric": "test/blue"}, "test/blue"),
    ({"metric": ""}, "metric"),
    ({"metric": "gradient/first"}, "gradient/first"),
    ({"alpha": 0}, "alpha"),
    ({"alpha": 1.5}, "alpha"),
    ({"alpha": "x"}, "alpha"),
    ({"better": "sideways"}, "sideways"),
    ({"statement": ""}, "statement"),
    ({"id": ""}, "id"),
    ({"source": None}, "source"),
    ({"treatment": {}}, "treatment"),
    ({"treatment": {"model/residual": "post_ln"}}, "treatment"),
    ({"treatment": {"model/residual": "nowhere"}}, "nowhere"),
    ({"treatment": {"model/norm": "none"}}, "model/norm"),
    ({"treatment": "pre_ln"}, "treatment"),
    ({"where": {"model/residual": "post_ln"}}, "model/residual"),
    ({"where": {"seed": 0}}, "seed"),
    ({"marign": 2.0}, "marign"),
]
# The same of the study.
STUDIES = [
    ({"claims": []}, "claims"),
    ({"claims": None}, "claims"),
    ({"claims": [3]}, "claims"),
    ({"claims": "it is"}, "claims"),
    ({"factors": []}, "factors"),
    ({"factors": ["nowhere"]}, "nowhere"),
    ({"factors": ["model/position"]}, "model/residual"),
    ({"seeds": 0}, "seeds"),
    ({"looks": 0}, "looks"),
    ({"expect": "perhaps"}, "expect"),
    ({"tune": {**TUNE, "key": "optimizer.rate"}}, "optimizer.rate"),
    ({"tune": {**TUNE, "values": []}}, "values"),
    ({"tune": {**TUNE, "metric": "val/blue"}}, "val/blue"),
    ({"match": {"by": "weight", "to": {"model/residual": "pre_ln"}}}, "weight"),
    ({"claims": STUDY["study"]["claims"] * 2}, "a"),
]


@pytest.fixture
def asked(complaint, tmp_path):
    """What is said of a sweep over a study, before it has any run."""

    def call(study):
        (tmp_path / "conf" / "experiment").mkdir(parents=True)
        text = "# @package _global_\n" + yaml.safe_dump(study)
        (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(text)
        return complaint("+experiment=mine", "--config-dir", str(tmp_path / "conf"), "-m")

    return call


@pytest.mark.parametrize(("changed", "named"), CLAIMS, ids=lambda part: str(part)[:40])
def test_claims(asked, changed, named):
    study = copy.deepcopy(STUDY)
    study["study"]["claims"][0].update(changed)
    assert named in asked(study)


@pytest.mark.parametrize(("changed", "named"), STUDIES, ids=lambda part: str(part)[:40])
def test_studies(asked, changed, named):
    study = copy.deepcopy(STUDY)
    study["study"].update(changed)
    assert named in asked(study)


def edit(name, change):
    """Change the text of a file, and seal its run as if that had always been so."""

    def edited(folder):
        path = folder / name
        path.write_text(change(path.read_text()))
        sealed(folder)

    return edited


def config(change):
    """Change the config of a run."""

    def changed(text):
        plain = yaml.safe_load(text)
        change(plain)
        return yaml.safe_dump(plain)

    return edit("config.yaml", changed)


def sealed(folder, **more):
    """Seal a run whose files were changed."""
    from ablate.record.files import seal, write_json
    from ablate.record.sealed import digests, read_sealed

    record = read_sealed(folder / "result.json")
    files = digests(folder, ("config.yaml", "tokenizer/*.json"))
    write_json(folder / "result.json", seal({**record, "files": files, **more}))


def other_weights(change):
    """Keep other weights, under their true digest."""

    def changed(folder):
        import torch

        from ablate.record.files import write_tensors

        weights = torch.load(folder / "weights.pt", weights_only=True)
        digest = write_tensors(folder / "weights.pt", change(weights))
        sealed(folder, weights=digest)

    return changed


def replaced(name, put):
    def change(folder):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        put(path)

    return change


ALIASES = "a: &a [x, x]\n" + "".join(f"a{i}: &a{i} [*a, *a]\n" for i in range(30))
CHECKPOINTS = {  # what becomes of a finished run, and what is named
    "gone": (shutil.rmtree, "no such folder"),
    "a file": (lambda f: (shutil.rmtree(f), f.write_text("x")), "this is a file"),
    "empty": (lambda f: (shutil.rmtree(f), f.mkdir()), "config.yaml"),
    "no result": (lambda f: (f / "result.json").unlink(), "result.json"),
    "a list as result": (lambda f: (f / "result.json").write_text("[]"), "result.json"),
    "text as result": (lambda f: (f / "result.json").write_text("done"), "result.json"),
    "a folder as result": (replaced("result.json", Path.mkdir), "result.json"),
    "a pipe as result": (replaced("result.json", os.mkfifo), "result.json"),
    "a result without files": (lambda f: sealed(f, files=None), "lists no files"),
    "files elsewhere": (lambda f: sealed(f, files={"../x": ""}), "../x"),
    "a device as file": (lambda f: sealed(f, files={"/dev/zero": ""}), "/dev/zero"),
    "a file that is gone": (lambda f: sealed(f, files={"x": ""}), "/x cannot be read"),
    "no config": (lambda f: (f / "config.yaml").unlink(), "config.yaml"),
    "text as config": (edit("config.yaml", lambda _: "hello"), "config.yaml"),
    "a list as config": (edit("config.yaml", lambda _: "[1, 2]"), "config.yaml"),
    "a tab": (edit("config.yaml", lambda _: "a:\n\tb: 1"), "config.yaml"),
    "brackets": (edit("config.yaml", lambda _: "[" * 5000), "config.yaml"),
    "aliases": (edit("config.yaml", lambda _: ALIASES), "aliases"),
    "a pipe as config": (replaced("config.yaml", os.mkfifo), "config.yaml"),
    "a link to itself": (replaced("config.yaml", lambda p: p.symlink_to(p.name)), "config.yaml"),
    "a link elsewhere": (replaced("config.yaml", lambda p: p.symlink_to("/etc/hosts")), "link"),
    "no model": (config(lambda c: c.pop("model")), "model"),
    "a number as model": (config(lambda c: c.update(model=3)), "config.yaml"),
    "a foreign class": (config(lambda c: c["model"].update(_target_="os.system")), "os.system"),
    "a foreign search": (config(lambda c: c["search"].update(_target_="os.abort")), "os.abort"),
    "a lookup": (config(lambda c: c["search"].update(size="${oc.env:HOME}")), "oc.env"),
    "text as size": (config(lambda c: c["model"].update(d_model="wide")), "wide"),
    "3 heads": (config(lambda c: c["model"].update(n_heads=3)), "3"),
    "no layers": (config(lambda c: c["model"].update(n_layers=-1)), "n_layers"),
    "too large": (config(lambda c: c["model"].update(d_model=10**12)), "d_model"),
    "an unknown key": (config(lambda c: c["model"].update(colour=1)), "colour"),
    "no beam": (config(lambda c: c["search"].update(size=0)), "size"),
    "text as length": (config(lambda c: c["batch"].update(max_length="x")), "max_length"),
    "no tokenizer": (lambda f: shutil.rmtree(f / "tokenizer"), "tokenizer"),
    "an empty tokenizer": (edit("tokenizer/joint.json", lambda _: "{}"), "tokenizer"),
    "no weights": (lambda f: (f / "weights.pt").unlink(), "weights.pt"),
    "empty weights": (lambda f: (f / "weights.pt").write_bytes(b""), "weights.pt"),
    "text as weights": (lambda f: (f / "weights.pt").write_text("x" * 99), "weights.pt"),
    "a pipe as weights": (replaced("weights.pt", os.mkfifo), "weights.pt"),
    "a list as weights": (other_weights(lambda w: {"all": [*w.values()]}), "weights.pt"),
    "a tensor less": (other_weights(lambda w: dict([*w.items()][1:])), "weights.pt"),
    "another shape": (other_weights(lambda w: {n: x[:1] for n, x in w.items()}), "weights.pt"),
    "numbers as weights": (other_weights(lambda w: dict.fromkeys(w, 1.0)), "weights.pt"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory, cache_folder):
    """The folder of a finished run."""
    import hydra

    from ablate.config.location import CONF
    from ablate.train.resolve import resolve
    from ablate.train.run import run

    folder = tmp_path_factory.mktemp("finished")
    sizes = ("model.d_model=16", "model.d_ff=32", "model.n_layers=1", "model.n_heads=2")
    paths = (f"paths.results={folder}", f"paths.cache={cache_folder}")
    words = ("scale=cpu", "logger=none", "data.n_test_long=5", "search.max_extra=1", *sizes, *paths)
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        composed = hydra.compose("config", [*words, *TINY], return_hydra_config=True)
    with open_dict(composed):
        del composed["hydra"]
    return Path(run(resolve(composed))["folder"])


@pytest.mark.parametrize("what", CHECKPOINTS)
def test_checkpoints(error_lines, finished, tmp_path, what):
    from ablate.__main__ import main

    spoil, named = CHECKPOINTS[what]
    folder = shutil.copytree(finished, tmp_path / "run")
    spoil(folder)
    (line,) = error_lines(main, "translate", f"checkpoint={folder}")
    assert named in line


COMMANDS = {  # by the words, what is named
    "judge": "SOURCE",
    "judge nowhere": "nowhere",
    "judge /dev/null": "/dev/null",
    "judge here project=x": "project=",
    "translate": "checkpoint=",
    "translate checkpoint=": "checkpoint=",
    "translate checkpoint=x batch=0": "batch=0",
    "translate checkpoint=x batch=many": "batch=many",
    "translate checkpoint=x threads=-1": "threads=-1",
    "translate checkpoint=x speed=3": "speed=",
    "translate checkpoint=x checkpoint=y": "checkpoint",
    "ledger experiments=/dev/null": "experiments=/dev/null",
    "ledger word=": "word=",
    "ledger state=7": "state=7",
    "ledger only=theirs": "only=theirs",
    "ledger --csv": "--csv",
    "site": "make site",
    "index nowhere": "python -m lab.index",
    "noise nowhere": "python -m lab.noise",
    "reproduce": "NAME",
    "reproduce nowhere": "nowhere",
    "plan +experiment=nowhere": "nowhere",
    "plan sample=x": "sample=x",
    "plan sample=perhaps": "sample=perhaps",
    "plan --config-dir /no/such": "/no/such",
    "options nowhere": "nowhere",
    "aa nowhere": "unknown command aa",
    "calibrate seeds=x": "python -m lab.calibrate",
    "toy 3": "python -m lab.toy",
}


@pytest.mark.parametrize("words", COMMANDS)
def test_commands(error_lines, tmp_path, monkeypatch, words):
    from ablate.__main__ import main

    monkeypatch.chdir(tmp_path)
    *_, line = error_lines(main, *words.split())
    assert COMMANDS[words] in line
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
