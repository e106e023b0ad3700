"""Whether BLEU can mean anything on some references.

BLEU counts runs of four tokens. A tokeniser that takes a whole clause for one token, as 13a does in
Chinese, leaves none of them, and the score is near 0 whatever the translation.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence

from ablate.metric.bleu import CorpusBleu

ORDER = 4
# scripts that put no spaces between words, by the first word of Unicode's names; who splits them
UNSPACED = {
    **{"CJK": "zh", "HIRAGANA": "ja-mecab", "KATAKANA": "ja-mecab"},
    **dict.fromkeys(("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"), "flores200"),
}


def doubt(bleu: CorpusBleu, references: Sequence[str]) -> str:
    """Say why a score on these references would mean nothing; "" where it may mean something."""
    if not references:
        return ""
    lengths = bleu.statistics(list(references), list(references))[:, 0]
    short = float((lengths < ORDER).mean())
    if short <= 0.5:
        return ""
    by, better = bleu.scoring.tokenize, _splits(references)
    cure = f"; say task.tokenize={better}" if better and better != by else ""
    return (
        f"BLEU by {by} cannot mean much here: {short:.0%} of the references have fewer than "
        f"{ORDER} of its tokens{cure}, and read chrF beside it"
    )


def _splits(lines: Sequence[str]) -> str:
    """The tokeniser for the script without spaces that most letters are of; "" for other text."""
    letters = [letter for line in lines for letter in line if letter.isalpha()]
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    found = {name: count for name, count in scripts.items() if name in UNSPACED}
    if 2 * sum(found.values()) <= len(letters):
        return ""
    kana = {name for name in found if name.endswith("KANA")}
    return "ja-mecab" if kana else UNSPACED[max(found, key=lambda name: found[name])]
