"""Folders of experiments, some of them made up, and the pages of the committed ones."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
VOID = {"meta", "input", "br", "link", "img", "hr"}
ALONE = {"line", "circle", "path", "rect", "use", "text", "svg", "symbol"}  # may be <x/>


class Page(HTMLParser):
    """Checks that every element is closed where it should be, and gathers what leads elsewhere."""

    def __init__(self, path):
        super().__init__()
        self.path, self.open, self.ids, self.links, self.loads = path, [], [], [], []
        self.acts, self.text, self.tags = [], "", set()
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.loads += [given[key] for key in ("src", "srcset", "data-script") if key in given]
        self.loads += [given["href"]] if tag == "link" else []
        self.acts += [key for key in given if key.startswith("on")]

    def handle_startendtag(self, tag, attrs):
        if tag in VOID:
            self.handle_starttag(tag, attrs)
            return
        assert tag in ALONE, tag
        self.ids += [value for key, value in attrs if key == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (self.path.name, tag, self.getpos())

    def handle_data(self, data):
        self.text += data

    def target(self, link):
        """The file and the place in it that a link leads to."""
        file, _, place = link.partition("#")
        path = (self.path.parent / unquote(file)).resolve() if file else self.path.resolve()
        return path, place


@pytest.fixture(scope="session")
def pages():
    """Read every page of a site, by its path."""
    return lambda folder: {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}


@pytest.fixture(scope="session")
def build():
    """Write the site of a folder of experiments; return its warnings."""
    from ablate.ledger.entries import read_entries
    from ablate.site.write import write

    def built(experiments, to):
        entries, warnings = read_entries(experiments, experiments / "none")
        return warnings + write(entries, to)

    return built


@pytest.fixture(scope="session")
def committed(build, tmp_path_factory):
    """The site of all committed experiments."""
    folder = tmp_path_factory.mktemp("site")
    assert build(EXPERIMENTS, folder) == []
    return folder


@pytest.fixture
def experiment(tmp_path):
    """Copy a committed experiment, its texts changed by `change(path, data)`, and seal it."""
    from ablate.study.evidence import Evidence

    def make(name, change=lambda _: None, folder="experiments/made"):
        source, to = EXPERIMENTS / name, tmp_path / folder
        about = json.loads((source / "study.json").read_text())
        known = {part: about[part] for part in ("name", "study", "regime", "registration")}
        known["runs"] = [*map(json.loads, (source / "runs.jsonl").read_text().splitlines())]
        verdict = json.loads((source / "verdict.json").read_text())
        change({**known, "verdict": verdict})
        Evidence(**known).save(to)
        (to / "verdict.json").write_text(json.dumps(verdict))
        shutil.copyfile(source / "report.md", to / "report.md")
        return to

    return make
