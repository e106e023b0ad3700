"""Prepare the page of an experiment: its report, the effects with links to seeds, and the pages of
its runs.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ablate.report.page import body
from ablate.site import data
from ablate.site.forest import Forest, Row, forests, row
from ablate.site.model import Site, names
from ablate.site.source import Source
from ablate.site.wording import duration

TITLE = re.compile(r"<h1>.*?</h1>\s*", re.DOTALL)
VERDICTS = re.compile(
    r"<h1>.*?</h1>\s*<([uo]l)>.*?</\1>", re.DOTALL
)  # the list at the start of a report
MARKDOWN = re.compile(r'<a href="([^":]*)\.md">(.*?)</a>', re.DOTALL)


def files_of(folder: Path, site: Site, page: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of every file about an experiment and its runs.

    Args:
        folder: folder of the experiment.
        site: the content of the site.
        page: function that renders a template from its name, the relative path to the root of the
            site, and its variables.
    """
    source, name = site.sources[folder], site.experiments[folder]
    sentences = data.of_seeds(source, site.tests, site.attention, name)
    page_names = names(f"{name}-{further_page}" for further_page in source.pages)
    siblings = {further_page: page_names[f"{name}-{further_page}"] for further_page in source.pages}
    context = {
        "source": source,
        "page": name,
        "report": _report(source, name) if source.report else "",
        "addresses": site.claims,
        "further": siblings,
        "drawn": _drawn(source),
        "sentences": bool(sentences),
        "duration": duration(source.seconds),
        "entries": [e for e in site.entries if any(f.report.parent == folder for f in e.findings)],
    }
    yield f"experiments/{name}.html", page("experiment.html", "../", **context)
    for further_page, text in source.pages.items():
        context = {
            "name": further_page.replace("_", " "),
            "page": name,
            "title": source.title,
            "text": _linked(body(text, lambda _, alt: alt), siblings),
        }
        file = f"experiments/{siblings[further_page]}.html"
        yield file, page("further.html", "../", **context)
    if source.evidence:
        yield f"data/{name}.js", data.of_experiment(source, name)
        if details := data.of_runs(source, site.tests, name):
            yield f"data/{name}-runs.js", details
        context = {"source": source, "page": name, "details": bool(details)}
        yield f"runs/{name}.html", page("runs.html", "../", **context)
    if sentences:
        yield f"data/{name}-sentences.js", sentences


def answered(folder: Path, site: Site) -> list[tuple[list[str], str, str]]:
    """Return, for every claim that an experiment tested, the experiment's verdicts, the statement
    and the name of the claim's page.
    """
    answers = [
        (
            [finding.verdict for finding in entry.findings if finding.report.parent == folder],
            entry.claim,
        )
        for entry in site.entries
    ]
    return [(words, claim.statement, site.claims[claim.id]) for words, claim in answers if words]


def _report(source: Source, page: str) -> str:
    """Return the report of an experiment as HTML, with links to figures in experiments/<page>/.

    The report's list of verdicts is removed if the runs are available, because the page then has
    its own list.
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
    """Return the HTML attributes width and height of an SVG file, which reserve its space on the
    page until it is loaded.
    """
    with picture.open(encoding="utf-8") as file:
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', file.read(1000))
    return f' width="{float(box[1]):.0f}" height="{float(box[2]):.0f}"' if box else ""


def _linked(html: str, pages: dict[str, str]) -> str:
    """Return HTML with links to Markdown files replaced by links to their pages, or by plain
    text.
    """
    return MARKDOWN.sub(
        lambda link: (
            f'<a href="{pages[link[1]]}.html">{link[2]}</a>' if link[1] in pages else link[2]
        ),
        html,
    )


def _drawn(source: Source) -> list[tuple[Forest, list[tuple[int, Row]]]]:
    """Return the forest plots of an experiment: the effects that have a difference for each seed,
    one plot for the effects that share a horizontal axis.

    Each effect comes with the number of its claim, so that the plot can link to the results of each
    seed.
    """
    effects = (
        (effect, (number, effect))
        for number, claim in enumerate(source.answers if source.evidence else [])
        if data.by_seed(claim) and (effect := row(claim, ""))
    )
    return forests(effects)
