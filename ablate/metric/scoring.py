"""Prepare sentences for BLEU.

The same words can differ by several BLEU with another tokeniser or letter case (arXiv:1804.08771),
so a score needs a description of its preparation. Two preparations are used, and both are always
reported.
"""

import importlib.metadata
from abc import ABC, abstractmethod

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from ablate.config.bleu import USUAL


class Scoring(ABC):
    """A preparation of hypotheses and references.

    `tokenize` is the name of the sacreBLEU tokeniser that runs after `prepare`.
    """

    tokenize: str

    @abstractmethod
    def prepare(self, sentence: str) -> str:
        """Return the sentence to pass to sacreBLEU."""

    def sign(self, signature: str) -> str:
        """Return sacreBLEU's signature with the changes made by `prepare`."""
        return signature


class Cased(Scoring):
    """Raw text with letter case, tokenised by sacreBLEU: the score for comparisons."""

    def __init__(self, tokenize: str = USUAL):
        self.tokenize = tokenize

    def prepare(self, sentence: str) -> str:
        """Return the sentence unchanged."""
        return sentence


class Tokenised(Scoring):
    """Text normalised and tokenised by Moses' rules, then lower-cased, as in papers on Multi30k.

    `language` is the code of the target language. A language that sacremoses does not support, such
    as the invented languages of `data=toy`, uses the English list of abbreviations, and apostrophes
    become separate tokens.
    """

    tokenize = "none"

    def __init__(self, language: str):
        self.language = language
        self.normalizer = MosesPunctNormalizer(lang=language)
        self.tokenizer = MosesTokenizer(lang=language)

    def prepare(self, sentence: str) -> str:
        """Return lower-case tokens separated by single spaces."""
        normal = self.normalizer.normalize(sentence)
        # Escapes such as &apos; would rename tokens on both sides without changing counts.
        tokens: str = self.tokenizer.tokenize(normal, return_str=True, escape=False)
        return tokens.lower()

    def sign(self, signature: str) -> str:
        """Return the signature with the language and the version of the rules."""
        rules = f"tok:moses-{self.language}-normalised-{importlib.metadata.version('sacremoses')}"
        return signature.replace("case:mixed", "case:lc").replace("tok:none", rules)


class Lowered(Cased):
    """Lower-cased text, tokenised by sacreBLEU, for languages that Moses cannot tokenise."""

    def prepare(self, sentence: str) -> str:
        """Return the sentence in lower case."""
        return sentence.lower()

    def sign(self, signature: str) -> str:
        """Return the signature with the letter case."""
        return signature.replace("case:mixed", "case:lc")


def as_in_papers(language: str, tokenize: str) -> Scoring:
    """Return the lower-cased scoring of a language: by Moses if 13a or intl is its usual
    tokeniser.
    """
    return Tokenised(language) if tokenize in (USUAL, "intl") else Lowered(tokenize)
