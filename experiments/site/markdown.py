"""Render the Markdown of reports as HTML."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

# the folds of a report, which are the only HTML in it
FOLD = re.compile(r"^(<details>\n<summary>[\w ]+</summary>|</details>)$", re.MULTILINE)


def as_html(text: str, figures: str, pages: Mapping[str, str]) -> str:
    """Return Markdown as HTML. HTML in the Markdown is shown as text, except folds.

    Args:
        text: the Markdown, whose images are figures/<name>.svg.
        figures: path of the folder with the figures, from the page.
        pages: addresses of the Markdown files to which the text may link, by their names without an
            ending. Links to other files of the repository become plain text.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", lambda *_: '<div class="table" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    html = []
    for part in FOLD.split(text):
        if FOLD.fullmatch(part):
            html.append(part)
            continue
        tokens = parser.parse(part)
        for before, token in zip(tokens, tokens[1:], strict=False):
            children = token.children or []
            if children and children[0].type == "image":
                before.attrSet("class", "figure")
            token.children = _addressed(children, figures, pages) or token.children
        html.append(parser.renderer.render(tokens, parser.options, {}))
    return "".join(html)


def _addressed(tokens: Sequence[Token], figures: str, pages: Mapping[str, str]) -> list[Token]:
    """Return the tokens of a paragraph with the addresses of the site, without links to files that
    the site does not have.
    """
    kept, is_open = [], False
    for token in tokens:
        address = str(token.attrGet("href") or token.attrGet("src") or "")
        page = pages.get(PurePosixPath(address).stem, "")
        if token.type == "image":
            token.attrSet("src", f"{figures}/{PurePosixPath(address).name}")
            token.attrSet("loading", "lazy")
        elif token.type == "link_open":
            is_open = bool(page) or address.startswith("https://")
            token.attrSet("href", page or address)
        if token.type not in ("link_open", "link_close") or is_open:
            kept.append(token)
    return kept
