"""Prepare sentences for BLEU by tokenisation and letter case.

The BLEU of the same translations differs by several points between tokenisers or letter cases
(arXiv:1804.08771), so a score needs a description of the preparation. Two preparations are used,
and both are always reported.
"""

import functools
import importlib.metadata
from typing import Any

from ablate.config.bleu import USUAL


class Scoring:
    """The preparation of translations and references before BLEU is computed.

    The class itself changes nothing: letter case is kept, and only sacreBLEU tokenises the text.
    Compare models by this BLEU. `tokenize` is the name of the sacreBLEU tokeniser that runs after
    `prepare`.
    """

    def __init__(self, tokenize: str = USUAL):
        self.tokenize = tokenize

    def prepare(self, sentence: str) -> str:
        """Return the sentence as it is passed to sacreBLEU."""
        return sentence

    def sign(self, signature: str) -> str:
        """Return sacreBLEU's signature, changed to describe the effect of `prepare`."""
        return signature


class Tokenised(Scoring):
    """The preparation for BLEU by Moses' normalisation and tokenisation, then lower case.

    Papers on Multi30k use it. `language` is the code of the target language. For a language that
    sacremoses does not support, such as the artificial languages of `data=toy`, the English list of
    abbreviations is used, and apostrophes become separate tokens.
    """

    def __init__(self, language: str):
        super().__init__("none")
        self.language = language

    @functools.cached_property
    def rules(self) -> tuple[Any, Any]:
        """The normaliser and the tokeniser; their import takes half a second."""
        from sacremoses import MosesPunctNormalizer, MosesTokenizer

        return MosesPunctNormalizer(lang=self.language), MosesTokenizer(lang=self.language)

    def prepare(self, sentence: str) -> str:
        """Return the sentence as lower-case tokens separated by single spaces."""
        normalizer, tokenizer = self.rules
        normal = normalizer.normalize(sentence)
        # Escapes such as &apos; would rename tokens on both sides without changing counts.
        tokens: str = tokenizer.tokenize(normal, return_str=True, escape=False)
        return tokens.lower()

    def sign(self, signature: str) -> str:
        """Return sacreBLEU's signature with the language and the version of sacremoses."""
        rules = f"tok:moses-{self.language}-normalised-{importlib.metadata.version('sacremoses')}"
        return signature.replace("case:mixed", "case:lc").replace("tok:none", rules)


class Lowered(Scoring):
    """The preparation for BLEU that only changes letters to lower case.

    It is for languages that Moses cannot tokenise.
    """

    def prepare(self, sentence: str) -> str:
        """Return the sentence in lower case."""
        return sentence.lower()

    def sign(self, signature: str) -> str:
        """Return sacreBLEU's signature with case:lc in place of case:mixed."""
        return signature.replace("case:mixed", "case:lc")


def as_in_papers(language: str, tokenize: str) -> Scoring:
    """Return the preparation for BLEU that papers usually choose for a language.

    Letters become lower case. In most languages, sentences are tokenised by the rules of Moses.

    Args:
        language: code of the target language.
        tokenize: sacreBLEU's usual tokeniser for the language. If it is 13a or intl, the sentences
            are tokenised by Moses. Any other tokeniser, such as zh, is kept.
    """
    return Tokenised(language) if tokenize in (USUAL, "intl") else Lowered(tokenize)
