"""Write all files of the site: pages and figures."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ablate.errors import track
from ablate.ledger.text import Entry, limits
from ablate.phrases import MARKS, grouped
from ablate.verdict.kinds import KINDS
from ablate.verdict.stored import RULE
from experiments.site import documents, front, guide
from experiments.site.markdown import as_html
from experiments.site.model import Site, file_names
from experiments.site.source import Source
from experiments.site.view import clearest, draw, drawn, views
from experiments.site.wording import doubts, is_single, support

TEMPLATES = Path(__file__).with_name("templates")
SCRIPTS = ("filter.js", "page.js")
# Colours of words by the colour of the mark, on white and on black: words need more contrast than
# marks. The hue is the same, with a contrast of at least 4.5 to 1.
WORDS = {
    "#009e73": ("#00775a", "#2fc39b"),
    "#d55e00": ("#b04500", "#f39257"),
    "#777777": ("#5a6167", "#a9b1b8"),
    "#cc79a7": ("#96396f", "#e6a5ca"),
}


def write(site: Site, folder: Path) -> None:
    """Write all pages and figures."""
    for name, text in files(site):
        path = folder / name
        # not atomic: an incomplete file can be written again
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def files(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of every file of the site."""
    pages = Pages(site)
    texts = [documents.whole(document, site) for document in site.documents]
    first = front.whole(site)
    yield "index.html", pages.render("index.html", **first)
    for card in front.cards(site):
        yield f"figures/card-{site.claims[card.entry.claim.id]}.svg", draw(card.best)
    yield "documents.html", pages.render("documents.html", rows=texts)
    yield "experiments.html", pages.render("experiments.html", **_experiments(site))
    yield from _guide(pages)
    for entry in track(site.entries, "writing claims", len(site.entries)):
        yield from _claim(entry, pages)
    for text in texts:
        yield f"documents/{text['page']}.html", pages.render("document.html", "../", **text)
    for source in track(site.sources.values(), "writing experiments", len(site.sources)):
        yield from _experiment(source, pages)
    yield "style.css", _style()
    for name in SCRIPTS:
        yield name, (TEMPLATES / name).read_text(encoding="utf-8")


class Pages:
    """The HTML templates, which know the content of the site.

    Args:
        site: the content of the site.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "date": lambda time: datetime.fromtimestamp(time, UTC).date().isoformat(),
            "css": lambda state: state.replace(" ", "-"),
            "experiments": front.experiments,
            "grouped": grouped,
            "limits": limits,
            "single": is_single,
            "terms": guide.terms,
        }
        self._templates.globals |= {"again_rule": RULE, "kinds": KINDS, "site": site}
        self._templates.globals["m"] = self._templates.get_template("macros.html").module

    def render(self, template: str, root: str = "", /, **context: object) -> str:
        """Return a page; `root` is the path of the first page's folder from this page."""
        here = template.removesuffix(".html")
        return self._templates.get_template(template).render(root=root, here=here, **context)


def _claim(entry: Entry, pages: Pages) -> Iterator[tuple[str, str]]:
    """Yield the page of a claim, and the forest plot of the verdicts on it."""
    name, all_views = pages.site.claims[entry.claim.id], views(entry, pages.site)
    deciding = [view for view in all_views if view.decides]
    shown = drawn(all_views)
    if shown:
        yield f"figures/{name}.svg", draw(shown)
    yield (
        f"claims/{name}.html",
        pages.render(
            "claim.html",
            "../",
            entry=entry,
            places=documents.linked(entry, pages.site),
            views=all_views,
            deciding=deciding,
            best=clearest(entry.verdict, all_views),
            figure=f"../figures/{name}.svg" if shown else "",
            support=[*support(deciding)],
            doubts=[*doubts(deciding)],
        ),
    )


def _guide(pages: Pages) -> Iterator[tuple[str, str]]:
    context = guide.whole(pages.site)
    yield "how-to-read.html", pages.render("how-to-read.html", **context)
    if view := guide.example(pages.site):
        yield "figures/example.svg", draw([view])


def _experiment(source: Source, pages: Pages) -> Iterator[tuple[str, str]]:
    """Yield the page of an experiment, its further pages, and its figures."""
    name = pages.site.experiments[source.folder]
    names = file_names(f"{name}-{page}" for page in source.pages)
    siblings = {page: f"{names[f'{name}-{page}']}.html" for page in source.pages}
    for title, text in {"": source.report, **source.pages}.items():
        yield (
            f"experiments/{siblings.get(title, f'{name}.html')}",
            pages.render(
                "experiment.html",
                "../",
                source=source,
                name=name,
                title=title.replace("_", " "),
                text=as_html(text, f"../figures/{name}", siblings),
                further=siblings,
            ),
        )
    for path in source.folder.glob("figures/*.svg"):
        yield f"figures/{name}/{path.name}", path.read_text(encoding="utf-8")


def _style() -> str:
    """Return the style sheet, with the colours of verdicts as CSS variables: `--supported` for
    words, `--supported-mark` for marks.
    """
    words = {"/* light */": "", "/* dark */": ""}
    for state, mark in MARKS.items():
        name, (on_white, on_black) = f"--{state.replace(' ', '-')}", WORDS[mark.colour]
        words["/* light */"] += f"{name}: {on_white}; {name}-mark: {mark.colour}; "
        words["/* dark */"] += f"{name}: {on_black}; {name}-mark: {on_black}; "
    text = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    for place, colours in words.items():
        text = text.replace(place, colours)
    return text


def _experiments(site: Site) -> dict[str, object]:
    """Return the variables for the list of experiments: all experiments by title, and the values of
    the filters.
    """
    sources = sorted(site.sources.values(), key=lambda source: source.title.casefold())
    corpora = sorted({corpus for source in sources for corpus in source.corpora})
    return {"sources": sources, "corpora": corpora}
