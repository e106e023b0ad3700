"""Write all files of the site: pages, figures and data."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from ablate.ledger.entries import Entry
from ablate.ledger.text import detail, limits
from ablate.phrases import grouped
from ablate.progress import track
from ablate.record.files import writing
from ablate.report.marks import arm_style, style_names
from ablate.report.page import body
from ablate.site import claim, data, documents, front, guide
from ablate.site.forest import Forest, forests, row
from ablate.site.model import Site, gather, names
from ablate.site.source import Source
from ablate.site.view import duration
from ablate.site.wording import is_single, settings
from ablate.verdict.kind import KINDS
from ablate.verdict.replication import RULE

TITLE = re.compile(r"<h1>.*?</h1>\s*", re.DOTALL)
# the list at the start of a report
VERDICTS = re.compile(r"<h1>.*?</h1>\s*<([uo]l)>.*?</\1>", re.DOTALL)
MARKDOWN = re.compile(r'<a href="([^":]*)\.md">(.*?)</a>', re.DOTALL)
COPIED_FILES = ("ledger.js", "page.js", "drill.js", "experiments.js", "charts.js", "runs.js")


def write(entries: list[Entry], folder: Path, results: Path) -> list[str]:
    """Write all pages, and return a warning for each part that had to be left out.

    Args:
        entries: the claims with their verdicts.
        folder: target folder.
        results: folder of the user's runs and sweeps, which has the translations of runs.

    Raises:
        UserError: the folder cannot be written.
    """
    warnings: list[str] = []
    site = gather(entries, warnings, results)
    texts = ((name, text.encode()) for name, text in pages(site))
    for name, content in (*texts, *_pictures(site)):
        with writing(folder / name):  # not atomic: an incomplete file can be written again
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    return warnings


def _pictures(site: Site) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every figure and every attention picture."""
    for folder, source in site.sources.items():
        for name, path in source.pictures.items():
            yield f"experiments/{site.experiments[folder]}/{name}.svg", path.read_bytes()
        runs = source.evidence.runs if source.evidence else []
        for name, path in data.files(runs, site.attention).items():
            yield f"data/{name}", path.read_bytes()


def pages(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of every text file of the site."""
    templates = _templates()

    def page(template: str, root: str = "", /, **context: object) -> str:
        here = template.removesuffix(".html")
        return templates.get_template(template).render(site=site, root=root, here=here, **context)

    texts = [documents.whole(document, site) for document in documents.shown(site)]
    yield "index.html", page("index.html", **front.whole(site))
    yield "documents.html", page("documents.html", rows=texts)
    yield "contradictions.html", page("contradictions.html")
    yield "experiments.html", page("experiments.html", **_experiments(site))
    yield "how-to-read.html", page("how-to-read.html", **guide.whole(site))
    for entry in track(site.entries, "writing claims", len(site.entries)):
        name = f"claims/{site.claims[entry.claim.id]}.html"
        yield name, page("claim.html", "../", **claim.whole(entry, site))
    for text in texts:
        yield f"documents/{text['page']}.html", page("document.html", "../", **text)
    for folder in track(site.sources, "writing experiments", len(site.sources)):
        yield from files_of(folder, site, page)
    yield "style.css", _style()
    yield "words.js", guide.script()
    for name in COPIED_FILES:
        yield name, (files("ablate.site") / "templates" / name).read_text(encoding="utf-8")


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("ablate.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "date": _date,
        "css": lambda state: state.replace(" ", "-"),
        "experiments": front.experiments,
        "detail": detail,
        "grouped": grouped,
        "limits": limits,
        "single": is_single,
        "settings": settings,
        "terms": guide.terms,
    }
    environment.globals |= {"again_rule": RULE, "kinds": KINDS}
    environment.globals["m"] = environment.get_template("macros.html").module
    return environment


def _style() -> str:
    text = (files("ablate.site") / "templates" / "style.css").read_text(encoding="utf-8")
    light, dark = style_names(dark=False), style_names(dark=True)
    replacements = {"/* light */": light, "/* dark */": dark, "/* arms */": arm_style()}
    for place, rules in replacements.items():
        text = text.replace(place, rules)
    return text


def _date(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()


def _experiments(site: Site) -> dict[str, object]:
    """Return the variables for the list of experiments: all experiments by title, and the values of
    the filters.
    """
    sources = sorted(site.sources.values(), key=lambda source: source.title.casefold())
    corpora = sorted({corpus for source in sources for corpus in source.corpora})
    return {"sources": sources, "corpora": corpora}


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


def _drawn(source: Source) -> list[Forest[int]]:
    """Return the forest plots of an experiment: the effects that have a difference for each seed,
    one plot for the effects that share a horizontal axis.

    Each effect comes with the number of its claim, so that the plot can link to the results of each
    seed.
    """
    answers = source.answers if source.evidence else []
    by_seed = ((row(claim), n) for n, claim in enumerate(answers) if data.by_seed(claim))
    return forests(by_seed)
