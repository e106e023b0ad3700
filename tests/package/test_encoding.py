"""Every text is read and written as UTF-8: no call leaves the encoding to the locale."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("ablate", "hydra_plugins", "lab")
TEXT_METHODS = {"read_text", "write_text"}
BINARY_OPENERS = {"os", "gzip", "Image"}  # their `open` gives bytes or pictures
TEXT_FILES = {"NamedTemporaryFile", "TemporaryFile", "fdopen", "TextIOWrapper", "FileHandler"}
PROCESSES = {"run", "Popen", "check_output", "check_call", "call"}

METADATA = ("direct_url.json", "top_level.txt")


def unencoded(source):
    """Return the lines of the calls that read or write text in the encoding of the locale."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return sorted(call.lineno for call in calls if depends_on_the_locale(call))


def depends_on_the_locale(call):
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in keywords:
        return False
    method = isinstance(call.func, ast.Attribute)
    name = call.func.attr if method else getattr(call.func, "id", "")
    owner = getattr(call.func.value, "id", "") if method else ""
    if name in TEXT_METHODS:  # a distribution reads its files by name, always as UTF-8
        of_package = call.args and str(getattr(call.args[0], "value", "")).endswith(METADATA)
        return method and not of_package
    if name == "open" and owner not in BINARY_OPENERS:
        return "b" not in mode(call, keywords, 0 if method and owner != "io" else 1, "r")
    if name in TEXT_FILES:
        return "b" not in mode(call, keywords, 1 if name == "fdopen" else 0, "w+b")
    return name in PROCESSES and bool({"text", "universal_newlines"} & keywords.keys())


def mode(call, keywords, position, usual):
    given = keywords.get("mode", call.args[position] if len(call.args) > position else None)
    return str(given.value) if isinstance(given, ast.Constant) else usual


@pytest.mark.parametrize(
    "line",
    [
        'open("a")',
        'open("a", "w")',
        'io.open("a", "r")',
        'path.open("a")',
        'path.open(mode="w")',
        "path.open()",
        "path.read_text()",
        'path.write_text("ü")',
        'tempfile.NamedTemporaryFile("w")',
        "subprocess.run(command, text=True)",
        "subprocess.Popen(command, universal_newlines=True)",
    ],
)
def test_a_call_without_an_encoding_is_found(line):
    assert unencoded(f"import io\n{line}\n") == [2]


@pytest.mark.parametrize(
    "line",
    [
        'open("a", "rb")',
        'path.open("wb")',
        'path.read_text(encoding="utf-8")',
        "path.read_bytes()",
        "write_text(path, text)",
        "os.open(path, os.O_RDONLY)",
        "gzip.open(path)",
        "tempfile.TemporaryFile()",
        'subprocess.run(command, encoding="utf-8")',
        "subprocess.run(command, capture_output=True)",
    ],
)
def test_a_call_with_an_encoding_or_of_bytes_passes(line):
    assert not unencoded(f"{line}\n")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_text_is_utf_8(folder):
    sources = (ROOT / folder).rglob("*.py")
    calls = {str(path): unencoded(path.read_text(encoding="utf-8")) for path in sources}
    assert calls
    assert not {path: lines for path, lines in calls.items() if lines}
