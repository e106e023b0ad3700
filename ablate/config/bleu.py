"""Choose sacreBLEU's tokeniser for a language.

Source: sacreBLEU, arXiv:1804.08771, and its README for Chinese, Japanese and Korean; flores200's
subwords for scripts without spaces that have no separate tokeniser (arXiv:2207.04672).
"""

import re

AUTO = "auto"
USUAL = "13a"
TOKENIZERS = (AUTO, USUAL, "intl", "zh", "ja-mecab", "ko-mecab", "flores200", "char")
# by ISO 639 code of two or three letters
OF_LANGUAGE = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod"), "flores200"),
}


def tokenizer(wanted: str, language: str) -> str:
    """Return the name of sacreBLEU's tokeniser: `wanted` or, if that is `auto`, the tokeniser of
    the language (zh for zh-TW).
    """
    if wanted != AUTO:
        return wanted
    return OF_LANGUAGE.get(re.split("[-_]", language.lower())[0], USUAL)
