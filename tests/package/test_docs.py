"""What README and docs tell people to type is there: commands, overrides, targets, links."""

import io
import re
import shlex
import shutil
from pathlib import Path

import hydra
import pytest
import torch

from ablate.cli.main import names
from ablate.config import CONF
from ablate.config.check import check
from ablate.config.screen import expand

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"^(?:python -m ablate|ablate)((?: [^#\n\\]*)?)")
PLACEHOLDER = re.compile(r"[A-Z]{4,}|<|\.\.\.|mine|my_|corpus/|/IDENTITY")


def typed():
    """Every command of the pages, once, without its comment."""
    for page in PAGES:
        text = page.read_text()
        lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
        for line in (*lines, *INLINE.findall(text)):
            if (match := COMMAND.match(line)) and not PLACEHOLDER.search(match[1]):
                yield tuple(shlex.split(match[1]))


def runs():
    """The overrides of commands that train or sweep."""
    words = {tuple(_one(w) for w in command if w != "-m") for command in typed()}
    return sorted(w for w in words if w and all("=" in word for word in w))


def _one(word):
    """An override, of a sweep the first choice."""
    return word if re.search(r"[\[({]", word) else word.partition(",")[0]


def test_every_command_is_there():
    first = {words[0] for words in typed() if words and not re.search("=|^-", words[0])}
    assert len(first) > 5
    assert first <= {*names()}


def test_every_override_is_accepted():
    lines = [words for words in runs() if "scaled" not in " ".join(words)]  # of the template
    assert len(lines) > 10
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        for overrides in lines:
            config = hydra.compose("config", [*overrides, "hydra.sweeper.params=null"])
            expand(config)
            check(config)


def test_every_target_of_make_is_there():
    targets = {*re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M)}
    named = {t for page in PAGES for t in re.findall(r"[`\n]make ([a-z][\w-]*)", page.read_text())}
    assert named <= targets


def test_every_command_of_the_laboratory_is_there():
    modules = {
        n
        for page in PAGES
        for n in re.findall(r"python -m lab\.([a-z_.]*[a-z])\b", page.read_text())
    }
    assert len(modules) > 5
    assert all((ROOT / "lab" / f"{name.replace('.', '/')}.py").exists() for name in modules)


def test_every_page_that_a_message_or_a_report_names_is_there():
    references = {
        (path, name)
        for folder in ("ablate", "lab", "conf", "tests")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".yaml", ".j2", ".html", ".md")
        for name in re.findall(r"\bdocs/[\w/]+\.md\b", path.read_text(encoding="utf-8"))
    }
    assert len(references) > 20
    assert not [(path, name) for path, name in references if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link


def test_every_page_is_in_the_contents():
    contents = (ROOT / "mkdocs.yml").read_text()
    assert all(page.name in contents for page in DOCS)


# prose names them by their first words, without what they need
NAMED = {
    *("evaluate", "generate", "join", "judge", "plan", "power --test corrected"),
    *("reproduce", "translate"),
}
# what each would take, and the test that has it instead
ELSEWHERE = {
    "reproduce dot_products": ("minutes", "tests/sweep/test_contest.py"),
    "data=multi30k model=tiny batch.tokens=4096": ("a download", "tests/data/test_multi30k.py"),
    "judge runs.csv study.yaml": ("a study", "tests/referee/test_designs.py"),
    "--cfg job": ("Hydra's own", "tests/cli/test_command_line.py"),
    "scale=language data=huggingface data.path=json": (
        "more of its line",
        "tests/data/test_huggingface.py",
    ),
    **{
        line: ("the files of the template", "tests/package/test_template.py")
        for line in (
            "plan +experiment=scaled_positions",
            "+experiment=scaled_positions -m",
            "model/position=scaled logger=none",
        )
    },
}
COMMANDS = sorted({shlex.join(words) for words in typed()} - NAMED)
QUICK = ["study.tune=null", "budget.seeds=2"]  # no sweep before the sweep
LANGUAGE = [  # sizes of a language model
    *("model.n_layers=1", "model.d_model=16", "model.d_ff=32", "model.n_heads=2"),
    *("batch.context=16", "batch.tokens=64", "batch.eval_tokens=4096", "logger=none"),
    *("budget.steps=8", "budget.warmup=2", "budget.validate_every=8"),
]


@pytest.fixture
def checkout(tmp_path, monkeypatch, here):
    """Work in a folder with two committed experiments, as a checkout has all of them."""
    for name in ("preln_vs_postln", "heads_param_count"):
        shutil.copytree(ROOT / "experiments" / name, tmp_path / "experiments" / name)
    shutil.copytree(ROOT / "experiments" / "heads_param_count", tmp_path / "whole")  # joined
    for name in ("docs", "results/runs", "novels"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("novels/first.txt", "letters.txt"):
        (tmp_path / name).write_text(f"{name} has a cat\n\nand a dog\n\n" * 50, encoding="utf-8")
    rows = [
        f"{variant},{norm},{seed},{loss + seed**2 / 1000},{30 - loss + seed / 10}\n"
        for seed in range(6)
        for variant, norm, loss in (("relu", "layer_norm", 1.5), ("swiglu", "rms_norm", 1.4))
    ]
    header = "variant,model/norm,seed,val_loss,test/bleu\n"
    shutil.copytree(ROOT / "docs" / "template" / "experiments" / "conf", tmp_path / "conf")
    (tmp_path / "runs.csv").write_text(header + "".join(rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))


def shrunk(words, small):
    """A command with sizes as small as they can be, where it trains."""
    if words and words[0] != "plan" and not words[0].startswith("-") and "=" not in words[0]:
        return words
    given = {word.partition("=")[0] for word in words}
    if "scale=language" in words:
        small = [*LANGUAGE, *(word for word in small if word.startswith("paths."))]
    other = "model" in given
    sizes = [word for word in small if not (other and word.startswith("model."))]
    sizes = [word for word in sizes if word.partition("=")[0] not in given]
    quick = QUICK if any("preln_vs_postln" in word for word in words) else []
    return [*words, *sizes, *(word for word in quick if word not in words)]


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS[::3], ids=lambda line: line or "nothing")
def test_every_command_runs(line, checkout, command, small):
    if line in ELSEWHERE:
        pytest.skip(": ".join(ELSEWHERE[line]))
    if "gpu" in line and not torch.cuda.is_available():
        pytest.skip("it needs a GPU")
    status, _, error = command(*shrunk(shlex.split(line), small))
    assert not status, error
