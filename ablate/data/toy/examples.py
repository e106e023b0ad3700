"""The examples of a construction, as they stand in docs/toy.md."""

from ablate.data.toy import mirel, sodak
from ablate.data.toy.constructions import Construction
from ablate.data.toy.text import interlinear
from ablate.data.toy.tree import Sentence


def block(construction: Construction) -> str:
    """Return the examples of a construction in Markdown."""
    pairs = "\n\n".join(map(pair, construction.examples))
    return f"**{construction.name}**\n\n```text\n{pairs}\n```"


def pair(meaning: Sentence) -> str:
    """Return a Mirel sentence and its Sodak translation, each with its glosses."""
    lines = interlinear(mirel.sentence(meaning)) + interlinear(sodak.sentence(meaning))
    return "\n".join(lines)
