"""Evidence from elsewhere can hold any text; a report shows it and does nothing else with it."""

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from ablate.report.write import write_report
from lab.index import index

HARM = (
    '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    " [go](javascript:alert(1)) ![see](https://evil.example/p.png) <javascript:alert(1)> $\\frac$"
    " [x]: javascript:alert(1) \n```\n\n# Heading <b onclick='alert(1)'>\n\n[/bold] & `k`"
)
METRIC = 'test/x" onload="alert(1)\\g<9>\'../../../harm<i>'
HARMLESS = {"https://arxiv.org/abs/2002.04745", "https://arxiv.org/abs/1910.05895"}


class Reader(HTMLParser):
    """Gathers what a browser would act on."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.acts, self.text = set(), set(), [], ""
        self.pictures = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links |= {v for k, v in attrs if k in ("href", "xlink:href") and v[:1] != "#"}
        self.pictures |= {v for k, v in attrs if k == "src"}
        self.acts += [k for k, _ in attrs if k.startswith("on") or k in ("src", "srcset", "action")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def hostile(evidence, tmp_path):
    """The folder of a report on evidence in which every free text is hostile."""
    runs = evidence("tuned").runs
    for run in runs:
        run["metrics"][METRIC] = 1.0 + run["seed"]
        if run["arm"] == "post_ln":
            run |= {"arm": f"post_ln {HARM}", "levels": {"model/residual": f"post_ln {HARM}"}}
    runs[0] |= {"status": "failed", "error": HARM, "metrics": {}, "curve": {}, "command": HARM}
    free = {"statement": HARM, "source": HARM, "margin_reason": HARM}
    made = evidence(
        "tuned",
        runs=runs,
        regime=dict.fromkeys(("data", "model", "device", HARM), HARM),
        claims=[
            {
                **free,
                "metric": METRIC,
                "baseline": {"model/residual": f"post_ln {HARM}"},
                "id": HARM,
            }
        ],
        literature=HARM,
        fixed=[HARM],
        tune={"key": HARM, "values": [1e-3], "seeds": [100], "metric": HARM, "better": HARM},
    )
    made.screening[0] |= {"status": HARM}
    made.registration.update({"command": HARM})
    folder = tmp_path / "experiments" / "made"
    write_report(type(made)(**{**vars(made), "name": HARM}), folder)
    return folder


def test_hostile_text_is_shown_and_nothing_else(hostile):
    for text in ((hostile / "report.md").read_text(), index(hostile.parent)):
        lax = MarkdownIt("commonmark", {"html": True}).enable("table")
        shown = _read(lax.render(text))
        assert not shown.tags & {"script", "iframe", "object", "embed", "b", "i", "h3"}
        assert not {act for act in shown.acts if act.startswith("on")}
        pages = {f"../docs/explanation/{name}.md" for name in ("verdicts", "headlines")}
        assert shown.links <= {*HARMLESS, "made/report.md", *pages}
        assert all(source.startswith("figures/") for source in shown.pictures)
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    files = {path.relative_to(hostile.parents[1]).as_posix() for path in _files(hostile.parents[1])}
    kept = r"experiments/made/(figures/[\w.+=,-]+\.svg|report\.md|verdict\.json)"
    assert all(re.fullmatch(kept, name) for name in files)
    assert any("onload" in name for name in files)


def _read(text):
    reader = Reader()
    reader.feed(text)
    return reader


def _files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]
