"""Folders of experiments, some of them made up, and the pages of the committed ones."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
TOY = {
    "_target_": "ablate.data.toy.corpus.Toy",
    **{"seed": 1, "n_train": 9, "n_validation": 3, "n_test": 3, "n_test_long": 3, "max_words": 14},
}
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

    def built(experiments, to, results=Path("none"), only=""):
        entries, warnings = read_entries(experiments, results, only)
        return warnings + write(entries, to, results)

    return built


@pytest.fixture(scope="session")
def site():
    """All that the site of the committed experiments shows."""
    from ablate.ledger.entries import read_entries
    from ablate.site.model import gather

    return gather(read_entries(EXPERIMENTS, Path("none"))[0], [], Path("none"))


@pytest.fixture(scope="session")
def committed(build, tmp_path_factory):
    """The site of all committed experiments."""
    folder = tmp_path_factory.mktemp("site")
    assert build(EXPERIMENTS, folder) == []
    return folder


@pytest.fixture
def experiment(tmp_path):
    """Copy a committed experiment, its texts changed by `change(path, data)`, and seal it."""
    from ablate.evidence.folder import Evidence
    from ablate.evidence.form import read_runs

    def make(name, change=lambda _: None, folder="experiments/made"):
        source, to = EXPERIMENTS / name, tmp_path / folder
        about = json.loads((source / "study.json").read_text())
        parts = {part: about[part] for part in ("name", "study", "regime", "registration")}
        parts["runs"] = read_runs(source / "runs.jsonl", about["study"]["factors"])
        verdict = json.loads((source / "verdict.json").read_text())
        del verdict["seal"]
        change({**parts, "verdict": verdict})
        Evidence(**parts).save(to)
        (to / "verdict.json").write_text(json.dumps(verdict))
        shutil.copyfile(source / "report.md", to / "report.md")
        return to

    return make


@pytest.fixture
def write_run():
    """Write the record of a run on some data, as far as the site reads it."""
    import yaml
    from omegaconf import OmegaConf

    from ablate.config.construct import construct
    from ablate.record.files import seal, write_json
    from ablate.record.sealed import RESULT, digests

    def written(folder, data, fingerprint=""):
        data_hash = fingerprint or construct(OmegaConf.create(data)).fingerprint()
        (folder / "config.yaml").write_text(yaml.safe_dump({"data": data}))
        write_json(folder / "identity.json", {"data": data_hash})
        write_json(folder / RESULT, seal({"files": digests(folder, ("*.yaml", "*.json"))}))

    return written


@pytest.fixture
def translated(experiment, build, write_run, tmp_path):
    """The site of an experiment of which the runs of seed 3 have their translations at hand."""
    import numpy as np
    from omegaconf import OmegaConf
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    from ablate.config.construct import construct
    from ablate.data.pairs import fingerprint_of_test
    from ablate.record.files import seal, write_json
    from ablate.record.sealed import RESULT

    right = [9, 9, 9, 8, 7, 6, 9, 8, 7, 6]  # lengths, matches and n-grams of a sentence
    wrong = [9, 9, 3, 1, 0, 0, 9, 8, 7, 6]
    texts = {"pre_ln": "it is right", "post_ln": "it is wrong"}
    folder = experiment("preln_vs_postln")
    read = fingerprint_of_test(construct(OmegaConf.create(TOY)), "test")
    runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    for run in runs:
        if run["seed"] == 3:
            test = tmp_path / f"results/runs/{run['cell']}/tests/{run['identity']}"
            test.mkdir(parents=True)
            translation = texts[run["levels"]["model/residual"]]
            (test / "test.hyp").write_text(f"same\n{translation}\nsame\n")
            rows = [right, right if translation.endswith("right") else wrong, right]
            np.savez(test / "test.stats.npz", bleu=np.array(rows))
            write_run(test.parents[1], TOY)
            write_json(test / "identity.json", {"data": {"test": read}})
            write_json(test / RESULT, seal({"files": {}}))
            media = test.parents[1] / f"wandb/offline-run-20260101_000000-{run['identity']}"
            media /= "files/media/images/attention"
            media.mkdir(parents=True)
            for name in ("encoder_self_4_ab12", "encoder_self_12_cd34", "encoder_self_10_ef56"):
                about = PngInfo()
                about.add_text("of", f"{name} {run['identity']}")
                Image.new("L", (40, 20)).save(media / f"{name}.png", pnginfo=about)
    assert build(tmp_path / "experiments", tmp_path / "site", tmp_path / "results") == []
    return tmp_path / "site"
