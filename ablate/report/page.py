"""Render a report as Markdown, and Markdown as HTML for the pages of the site."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from ablate.phrases import code, grouped, text
from ablate.report.marks import AGAIN, INK

FOLD = re.compile(r"^(<details>\n<summary>[\w ]+</summary>|</details>)$", re.MULTILINE)
ANSWER = re.compile(r"[.:,]")  # the end of the first word of an answer
VERDICTS = {"Supported": "supported", "Refuted": "refuted", "Undecided": "inconclusive"}
CLASSES = {word: f"verdict {state}" for word, state in VERDICTS.items()} | {
    word.upper(): f"again {word.replace(' ', '-')}" for word in AGAIN
}
TEMPLATES = Environment(
    loader=PackageLoader("ablate.report"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # Markdown is escaped by `text` and `code`, the page by its parser
)
TEMPLATES.filters |= {"text": text, "code": code, "grouped": grouped}


def markdown(content: dict[str, object]) -> str:
    """Return the report as Markdown; `content` has the variables of the template."""
    written = TEMPLATES.get_template("report.md.j2").render(content)
    return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"


def body(report: str, picture: Callable[[str, str], str]) -> str:
    """Return a Markdown report as HTML.

    Args:
        report: Markdown, whose images are figures/<name>.svg.
        picture: function that returns the HTML of a figure, given its name and its alternative text
            (escaped for an HTML attribute).
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", _image)
    parser.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    parts = FOLD.split(report)  # only our own folds match, because markup in a study is escaped
    env = {"picture": picture}
    return "".join(part if FOLD.fullmatch(part) else _rendered(parser, part, env) for part in parts)


def _rendered(parser: MarkdownIt, part: str, env: EnvType) -> str:
    tokens = parser.parse(part)
    _mark(tokens)
    return str(parser.renderer.render(tokens, parser.options, env))


def _mark(tokens: Sequence[Token]) -> None:
    """Add CSS classes to the verdicts and figures in the parsed Markdown."""
    for before, token in zip(tokens, tokens[1:], strict=False):
        children = token.children or []
        if before.type == "paragraph_open" and children and children[0].type == "image":
            before.attrSet("class", "figure")
        for strong, word in zip(children, children[1:], strict=False):
            answer = ANSWER.split(word.content, maxsplit=1)[0]
            if strong.type == "strong_open" and answer in CLASSES:
                strong.attrSet("class", CLASSES[answer])


def _image(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    name = PurePosixPath(str(token.attrGet("src"))).stem
    alt = escapeHtml(renderer.renderInlineAsText(token.children, options, env))
    return str(env["picture"](name, alt))


def inline(name: str, alt: str, picture: str) -> str:
    """Return an SVG file for use in an HTML page: with unique ids, and in the text colour of the
    page.

    Args:
        name: name of the figure, which makes its ids unique.
        alt: the alternative text, escaped for an HTML attribute.
        picture: the SVG file.
    """
    drawing = picture[picture.index("<svg") :]
    drawing = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", drawing)
    drawing = drawing.replace(INK, "currentColor")
    return drawing.replace("<svg", f'<svg role="img" aria-label="{alt}"', 1).strip()
