"""The page of an experiment: its report, the effects that lead to seeds, and its other pages."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ablate.report.page import body
from ablate.site import sentences
from ablate.site.address import names
from ablate.site.forest import Forest, Row, forests, row
from ablate.site.model import Site
from ablate.site.runs import by_seed, data
from ablate.site.source import Source
from ablate.site.wording import duration

TITLE = re.compile(r"<h1>.*?</h1>\s*", re.DOTALL)
VERDICTS = re.compile(r"<h1>.*?</h1>\s*<([uo]l)>.*?</\1>", re.DOTALL)  # they begin a report
MARKDOWN = re.compile(r'<a href="([^":]*)\.md">(.*?)</a>', re.DOTALL)


def files_of(folder: Path, site: Site, page: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Every page of an experiment and its runs, by name; `page` renders a template."""
    source = site.sources[folder]
    name = site.experiments[folder]
    said = _sentences(source, site, name)
    others = names(f"{name}-{one}" for one in source.pages)
    siblings = {one: others[f"{name}-{one}"] for one in source.pages}
    yield (
        f"experiments/{name}.html",
        page(
            "experiment.html",
            "../",
            source=source,
            page=name,
            report=_report(source, name) if source.report else "",
            addresses=site.claims,
            further=siblings,
            drawn=_drawn(source),
            sentences=bool(said),
            duration=duration(source.seconds),
            entries=[e for e in site.entries if any(f.report.parent == folder for f in e.findings)],
        ),
    )
    for one, text in source.pages.items():
        shown = {"name": one.replace("_", " "), "page": name, "title": source.title}
        text = _linked(body(text, lambda _, alt: alt), siblings)
        yield f"experiments/{siblings[one]}.html", page("further.html", "../", text=text, **shown)
    if source.evidence:
        yield f"data/{name}.js", data(source.evidence, source.answers, source.verdict, name)
        details = sentences.of_runs(source.evidence, site.tests, name)
        if details:
            yield f"data/{name}-runs.js", details
        known = {"source": source, "page": name, "details": bool(details)}
        yield f"runs/{name}.html", page("runs.html", "../", **known)
    if said:
        yield f"data/{name}-sentences.js", said


def answered(folder: Path, site: Site) -> list[tuple[list[str], str, str]]:
    """Verdicts, statement and page of every claim that an experiment decides."""
    found = [
        ([one.verdict for one in entry.findings if one.report.parent == folder], entry.claim)
        for entry in site.entries
    ]
    return [(words, claim.statement, site.claims[claim.id]) for words, claim in found if words]


def _sentences(source: Source, site: Site, page: str) -> str:
    if source.evidence is None:
        return ""
    return sentences.data(source.evidence, source.answers, site.tests, site.attention, page)


def _report(source: Source, page: str) -> str:
    """The report as a part of a page, its figures linked as files below experiments/<page>/.

    Its list of verdicts is left to the page where that has the evidence to write its own.
    """

    def picture(name: str, alt: str) -> str:
        if name not in source.pictures:
            return alt
        file = f"{page}/{name}.svg"
        size = _size(source.pictures[name])
        return f'<a href="{file}"><img src="{file}" alt="{alt}"{size} loading="lazy"></a>'

    html = _linked(body(source.report, picture), {})
    return (VERDICTS if source.entries else TITLE).sub("", html, count=1)


def _size(picture: Path) -> str:
    """Attributes that keep a figure's place on the page until it is loaded."""
    with picture.open(encoding="utf-8") as file:
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', file.read(1000))
    return f' width="{float(box[1]):.0f}" height="{float(box[2]):.0f}"' if box else ""


def _linked(html: str, pages: dict[str, str]) -> str:
    """Links to Markdown lead to its page instead, or are none."""
    return MARKDOWN.sub(
        lambda found: (
            f'<a href="{pages[found[1]]}.html">{found[2]}</a>' if found[1] in pages else found[2]
        ),
        html,
    )


def _drawn(source: Source) -> list[tuple[Forest, list[tuple[int, Row]]]]:
    """The effects that lead to seeds, on their axes, each with its number among the answers."""
    if source.evidence is None:
        return []
    numbered = [(n, told) for n, told in enumerate(source.answers) if by_seed(told)]
    found = {id(one): (number, one) for number, told in numbered if (one := row(told, ""))}
    every = forests(one for _, one in found.values())
    return [(forest, [found[id(one)] for one in forest.rows]) for forest in every]
