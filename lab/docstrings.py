"""Draw docstrings or error messages at random, to test whether a stranger understands them.

Read each text once, without the code, and note the numbers of the texts that you did not
understand. With `planted`, bad sentences of a file (one per line) replace some texts: a reader who
does not notice the bad sentences is not strict enough. Their numbers are printed to stderr after
all texts.
"""

import argparse
import ast
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ablate.cli.parser import PATH, Parser, one_of, whole
from lab.command import main

FIRST = "drawing"
ROOT = Path(__file__).parents[1]
KINDS = ("docstrings", "errors", "output")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Text(NamedTuple):
    """A text of the source code, with its location and the signature of its definition."""

    place: str  # file:line
    signature: str
    text: str


def add_arguments(parser: Parser) -> None:
    """Declare the seed, the number and the kind of the texts, and the file of planted sentences."""
    parser.add_key("seed", "of the draw", whole(0), 0)
    parser.add_key("number", "of texts", whole(1), 100)
    parser.add_key("kind", "which texts", one_of(*KINDS), "docstrings")
    parser.add_key("planted", "file with bad sentences to mix in, one per line", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Print the drawn texts in random order, with numbers."""
    random_order = random.Random(arguments.seed)
    texts = [text for path in sources() for text in texts_of(path, arguments.kind)]
    texts = random_order.sample(texts, min(arguments.number, len(texts)))
    planted: set[Text] = set()
    if arguments.planted:
        lines = arguments.planted.read_text(encoding="utf-8").splitlines()
        places = random_order.sample(texts, min(len(lines), len(texts)))
        planted = {at._replace(text=line) for at, line in zip(places, lines, strict=False)}
        replaced = {(at.place, at.signature) for at in planted}
        texts = [*planted, *(at for at in texts if (at.place, at.signature) not in replaced)]
        random_order.shuffle(texts := sorted(texts))
    for number, text in enumerate(texts, 1):
        print(f"{number}. {text.place}\n{text.signature}\n{text.text}\n")
    if planted:
        numbers = [number for number, text in enumerate(texts, 1) if text in planted]
        print(f"planted: {', '.join(map(str, numbers))}", file=sys.stderr)


def sources() -> list[Path]:
    """Return all source files of the package `ablate`."""
    return sorted((ROOT / "ablate").rglob("*.py"))


def texts_of(path: Path, kind: str) -> Iterator[Text]:
    """Yield the texts of one kind (an element of KINDS) in a source file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    for node in ast.walk(tree):
        if kind == "docstrings":
            if isinstance(node, ast.Module | Definition) and (docstring := ast.get_docstring(node)):
                line = node.body[0].lineno if isinstance(node, ast.Module) else node.lineno
                yield Text(f"{name}:{line}", signature(node), docstring)
        elif text := message(node, kind):
            yield Text(f"{name}:{node.lineno}", "", text)  # type: ignore[attr-defined]


def signature(node: ast.Module | Definition) -> str:
    """Return a definition without its body, such as "def f(x) -> int"; "module" for a module."""
    if isinstance(node, ast.Module):
        return "module"
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}({', '.join(map(ast.unparse, node.bases))})"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({ast.unparse(node.args)}){returns}"


def message(node: ast.AST, kind: str) -> str | None:
    """Return the source of the text in a call of UserError or print; None for any other node.

    Args:
        node: a node of the syntax tree.
        kind: "errors" for calls of UserError, "output" for calls of print.
    """
    callee = {"errors": "UserError", "output": "print"}[kind]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == callee:
        texts = [a for a in node.args if isinstance(a, ast.JoinedStr | ast.Constant | ast.BinOp)]
        return ast.unparse(texts[0]) if texts else None
    return None


if __name__ == "__main__":
    main("lab.docstrings")
