"""Format numbers, lists and labels for sentences, and text for Markdown; and define the mark of
every verdict.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ablate.config.labels import arm_labels
from ablate.metric import NOTHING


def probability(value: float | None) -> str:
    """Return a p-value as text, such as "0.042" or "< 0.001"; "-" if there is no p-value."""
    return NOTHING if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def deviation(value: float | None) -> str:
    """Return a deviation from 0 with three digits, or as a whole number if it is large; JSON has no
    NaN, so that None stands for it.
    """
    if value is None:
        return "NaN"
    return f"{value + 0.0:,.0f}" if 999.5 <= abs(value) < 1e9 else f"{value + 0.0:.3g}"


def percent(level: float) -> str:
    """Return a confidence level as a percentage without its sign, such as "95" or "97.5"."""
    return f"{100 * level:.6g}"


def listed(items: list[Any], last: str = "and") -> str:
    """Join items as in a sentence: `a, b and c`; with semicolons if an item contains a comma."""
    words = [str(item) for item in items]
    between = "; " if len(words) > 2 and any(", " in word for word in words) else ", "
    return f" {last} ".join([between.join(words[:-1]), words[-1]] if len(words) > 1 else words)


def each_of(value: Any) -> list[Any]:
    """Return the items of a list; for any other value, a list with this value."""
    return value if isinstance(value, list) else [value]


def grouped(number: int | list[int]) -> str:
    """Return a number with separators, such as "1,200", or several: "60 and 600"."""
    return listed([f"{each:,}" for each in each_of(number)])


def counted(number: int | list[int], noun: str) -> str:
    """Return a number with its noun, such as "1 run" or "1,200 runs"; several numbers take the
    plural.
    """
    return f"{grouped(number)} {noun}{'s' * (number != 1)}"


def quoted(label: str) -> str:
    """Return the label of an arm in quotation marks if it contains a comma, so that its end can be
    seen in a sentence.
    """
    return f'"{label}"' if ", " in label else label


STACKS = ("the encoder", "the decoder")  # labels of the stacks that a probe reads
# For each article, the beginnings of the labels that need this article in a sentence.
ARTICLES = {
    "the": re.compile(r"(?:small Transformer|Transformer|LSTM|prefix language model)\b"),
    "a": re.compile(
        r"(?:beam of|causal mask|decoder-only|linear (?:feed-forward layer|head)|"
        r"(?:joint|small BPE|word|character|byte) vocabulary)\b"
    ),
}


def in_sentence(levels: Mapping[str, object]) -> str:
    """Return the label of an arm as part of a sentence: "the LSTM", "6 layers and no warm-up".

    If the arm names a stack (encoder or decoder) of its model, the text is such as "the encoder of
    the LSTM".
    """
    labels = [_with_article(label) for label in arm_labels(levels)]
    if len(labels) > 1 and labels[1] in STACKS:
        labels = [f"{labels[1]} of {labels[0]}", *labels[2:]]
    return listed(labels)


def _with_article(label: str) -> str:
    articles = (word for word, starts in ARTICLES.items() if starts.match(label))
    return " ".join([*articles, label])


SPECIAL = re.compile(r"([\\`*<|$~]|\](?=[(\[:])|(?<!\w)_|_(?!\w)|&(?=#?\w+;))")
BLOCK = re.compile(r"^(\d*)([#+=.)>-])(?=[\s#+=-]|$)")  # text that would start a list or a heading
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


def text(plain: Any) -> str:
    """Escape plain text for Markdown, on one line; arXiv numbers become links."""
    escaped = SPECIAL.sub(r"\\\1", " ".join(str(plain).split()))
    escaped = BLOCK.sub(r"\1\\\2", escaped)
    return ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", escaped)


def code(plain: Any) -> str:
    """Return plain text as the content of Markdown code: on one line, with ' for each backtick."""
    return " ".join(str(plain).split()).replace("`", "'")


def claim_name(claim: Mapping[str, object]) -> str:
    """Return the name that identifies a claim within a study: its id, followed in brackets by the
    tested interpretation if the statement has several.
    """
    return f"{claim['id']} ({claim['reading']})" if claim.get("reading") else str(claim["id"])


def interpretation(claim: Mapping[str, Any], claims: Iterable[Mapping[str, Any]]) -> str:
    """Return the reading of a claim (one of the meanings of its sentence) if other claims of the
    study have the same statement; else "", because the statement alone says what was tested.
    """
    alike = [each for each in claims if each["statement"] == claim["statement"]]
    return claim.get("reading", "") if len(alike) > 1 else ""


def number_of(claims: Iterable[Mapping[str, object]]) -> dict[str, int]:
    """Return the number of each claim, by its name; the first claim of a study has number 1."""
    return {name: place for place, name in enumerate(dict.fromkeys(map(claim_name, claims)), 1)}


def claims_numbered(numbers: list[int]) -> str:
    """Name claims by their numbers: "Claims 1 and 3"."""
    return f"Claim{'s' * (len(numbers) > 1)} {listed(numbers)}"


class Mark(NamedTuple):
    """The symbol and the colour of a verdict, for figures, web pages and the terminal.

    The colours are those of Okabe and Ito (2008), which can be distinguished with every kind of
    colour vision. Marks differ in shape as well. No arm has a colour of a verdict.
    """

    colour: str  # on white or black
    letter: str  # character with the shape of the mark, for a terminal
    marker: str = ""  # marker of matplotlib, for states that figures show


MARKS = {
    "supported": Mark("#009e73", "●", "o"),
    "refuted": Mark("#d55e00", "■", "s"),
    "inconclusive": Mark("#777777", "◆", "D"),
    "mixed": Mark("#cc79a7", "◐"),
    "undecided": Mark("#777777", "◆"),
    "not testable": Mark("#777777", "–"),
    "not tested": Mark("#777777", "○"),
}
