"""The pages of a few committed experiments, and what the pages of all would show."""

import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SHOWN = ("preln_vs_postln", "preln_vs_postln_multi30k", "label_smoothing", "worked_examples")
LEFT_OUT = ("runs.jsonl", "*.gz", "*.npz", "*.py", "conf")
VOID = {"meta", "input", "br", "link", "img", "hr"}
ALONE = {"line", "circle", "path", "rect", "use"}  # may be <x/>


class Page(HTMLParser):
    """Check that every element is closed where it should be, and gather what leads elsewhere."""

    def __init__(self, path):
        super().__init__()
        self.path, self.open, self.ids, self.links, self.loads = path, [], [], [], []
        self.acts, self.text = [], ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.loads += [given["src"]] if "src" in given else []
        self.loads += [given["href"]] if tag == "link" else []
        self.acts += [key for key in given if key.startswith("on")]

    def handle_startendtag(self, tag, attrs):
        if tag in VOID:
            self.handle_starttag(tag, attrs)
        else:
            assert tag in ALONE, tag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (self.path.name, tag, self.getpos())

    def handle_data(self, data):
        self.text += data

    def target(self, link):
        """The file and the place in it that a link leads to."""
        file, _, place = link.partition("#")
        return (self.path.parent / unquote(file) if file else self.path).resolve(), place


@pytest.fixture(scope="session")
def pages():
    """Read every page of a site, by its path below the site's folder."""
    return lambda folder: {
        path.relative_to(folder).as_posix(): Page(path) for path in sorted(folder.rglob("*.html"))
    }


@pytest.fixture(scope="session")
def build():
    """Write the pages of a folder of experiments into another folder."""
    from ablate.ledger.text import read_entries
    from experiments.site.model import gather
    from experiments.site.write import write

    def built(experiments, to):
        entries = read_entries(experiments)
        write(gather(entries), to)
        return to

    return built


@pytest.fixture(scope="session")
def committed(build, tmp_path_factory):
    """The pages of a few committed experiments, with all claims of the catalogue."""
    folder = tmp_path_factory.mktemp("site")
    ignored = shutil.ignore_patterns(*LEFT_OUT)
    for name in SHOWN:
        shutil.copytree(EXPERIMENTS / name, folder / "experiments" / name, ignore=ignored)
    return build(folder / "experiments", folder / "pages")


@pytest.fixture(scope="session")
def site():
    """The content of the site of all committed experiments."""
    from ablate.ledger.text import read_entries
    from experiments.site.model import gather

    return gather(read_entries(EXPERIMENTS))
