"""Write all files of the site: pages, figures and data."""

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ablate.ledger.entries import Entry
from ablate.ledger.text import detail, limits, settings
from ablate.phrases import grouped
from ablate.progress import track
from ablate.record.files import writing
from ablate.report.marks import arm_style, style_names
from ablate.site import claim, data, documents, front, guide
from ablate.site.experiment import answered, files_of
from ablate.site.model import Site, gather
from ablate.verdict.kind import KINDS
from ablate.verdict.replication import RULE

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
    yield "contradictions.html", page("contradictions.html", pairs=_pairs(site))
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


def _pairs(site: Site) -> list[tuple[Any, list[Entry], list[Entry]]]:
    return [
        (
            pair,
            [site.by_id[claim_id] for claim_id in pair.first],
            [site.by_id[claim_id] for claim_id in pair.second],
        )
        for pair in site.pairs
    ]


def _experiments(site: Site) -> dict[str, object]:
    """Return the variables for the list of experiments: all experiments by title, and the values of
    the filters.
    """
    ordered = sorted(site.sources.items(), key=lambda pair: pair[1].title.casefold())
    rows = [
        (site.experiments[folder], source, answered(folder, site)) for folder, source in ordered
    ]
    return {
        "rows": rows,
        "corpora": sorted({corpus for _, source, _ in rows for corpus in source.corpora}),
    }
