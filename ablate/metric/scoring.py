"""What is done to a sentence before its n-grams are counted.

The same words score several BLEU apart under another tokeniser or letter case (arXiv:1804.08771),
so a score without its scoring says little. Two are used here, and both are always reported.
"""

import importlib.metadata
from abc import ABC, abstractmethod

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from ablate.config.bleu import USUAL


class Scoring(ABC):
    """A way to prepare hypotheses and references alike.

    `tokenize` is the name of the sacreBLEU tokeniser that runs after `prepare`.
    """

    tokenize: str

    @abstractmethod
    def prepare(self, sentence: str) -> str:
        """Return the sentence as sacreBLEU shall see it."""

    def sign(self, signature: str) -> str:
        """Return sacreBLEU's signature with what `prepare` did in its place."""
        return signature


class Cased(Scoring):
    """Raw text, letter case kept, tokenised by sacreBLEU: the one to compare by."""

    def __init__(self, tokenize: str = USUAL):
        self.tokenize = tokenize

    def prepare(self, sentence: str) -> str:
        """Return the sentence as it is."""
        return sentence


class Tokenised(Scoring):
    """Normalised and tokenised by Moses' rules, then lower-cased, as in papers on Multi30k.

    `language` is the code of the target language. A code that sacremoses does not know, such as
    those of the invented languages of `data=toy`, gets the English list of abbreviations and
    apostrophes that stand alone.
    """

    tokenize = "none"

    def __init__(self, language: str):
        self.language = language
        self.normalizer = MosesPunctNormalizer(lang=language)
        self.tokenizer = MosesTokenizer(lang=language)

    def prepare(self, sentence: str) -> str:
        """Return lower-case tokens with single spaces between them."""
        normal = self.normalizer.normalize(sentence)
        # Escapes such as &apos; would rename tokens on both sides and change no count.
        tokens: str = self.tokenizer.tokenize(normal, return_str=True, escape=False)
        return tokens.lower()

    def sign(self, signature: str) -> str:
        """Return the signature with the language, and the version of the rules."""
        rules = f"tok:moses-{self.language}-normalised-{importlib.metadata.version('sacremoses')}"
        return signature.replace("case:mixed", "case:lc").replace("tok:none", rules)


class Lowered(Cased):
    """Lower-cased, and tokenised by sacreBLEU: of languages whose words Moses does not find."""

    def prepare(self, sentence: str) -> str:
        """Return the sentence in lower case."""
        return sentence.lower()

    def sign(self, signature: str) -> str:
        """Return the signature with the letter case."""
        return signature.replace("case:mixed", "case:lc")


def as_in_papers(language: str, tokenize: str) -> Scoring:
    """Return the lower-cased scoring of a language; Moses' where BLEU by 13a or intl is usual."""
    return Tokenised(language) if tokenize in (USUAL, "intl") else Lowered(tokenize)
