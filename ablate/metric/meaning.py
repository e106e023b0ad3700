"""Check whether BLEU is meaningful for some references.

BLEU counts n-grams of up to four tokens. A tokeniser that treats a whole clause as one token, as
13a does for Chinese, finds no n-grams of four tokens in most sentences, and the score is near 0 for
any translation.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence

from ablate.metric.bleu import CorpusBleu

ORDER = 4
# scripts without spaces between words (first word of Unicode's names), with a suitable tokeniser
UNSPACED = {
    **{"CJK": "zh", "HIRAGANA": "ja-mecab", "KATAKANA": "ja-mecab"},
    **dict.fromkeys(("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"), "flores200"),
}


def doubt(bleu: CorpusBleu, references: Sequence[str]) -> str:
    """Return the reason why BLEU would be meaningless for these references; "" if there is none."""
    if not references:
        return ""
    lengths = bleu.statistics(list(references), list(references))[:, 0]
    short = float((lengths < ORDER).mean())
    if short <= 0.5:
        return ""
    by, better = bleu.scoring.tokenize, _splits(references)
    cure = f"; set task.tokenize={better}" if better and better != by else ""
    return (
        f"BLEU by {by} cannot mean much here: {short:.0%} of the references have fewer than "
        f"{ORDER} of its tokens{cure}, and read chrF beside it"
    )


def _splits(lines: Sequence[str]) -> str:
    """Return the name of a sacreBLEU tokeniser for lines in a script without spaces.

    Return "" unless most letters belong to such a script.
    """
    letters = [letter for line in lines for letter in line if letter.isalpha()]
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    counts = {name: count for name, count in scripts.items() if name in UNSPACED}
    if 2 * sum(counts.values()) <= len(letters):
        return ""
    kana = {name for name in counts if name.endswith("KANA")}
    return "ja-mecab" if kana else UNSPACED[max(counts, key=lambda name: counts[name])]
