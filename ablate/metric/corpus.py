"""Scores of translations, such as BLEU, from integers that are summed over all sentences."""

import functools
import importlib.metadata
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor
from torchmetrics import Metric

from ablate.config.settle import USUAL_BLEU


class CorpusScore(Metric):
    """A score of all sentences added so far, equal for any number of devices.

    `signature` describes how the score is computed; report it with every score.

    Args:
        width: number of integers for each sentence.
    """

    full_state_update = False
    higher_is_better = True
    signature: str
    sums: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.add_state("sums", torch.zeros(width, dtype=torch.int64), dist_reduce_fx="sum")

    @abstractmethod
    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return the integers of a sentence, whose sums over all sentences determine the score."""

    @abstractmethod
    def score(self, sums: Int[np.ndarray, " k"]) -> float:
        """Return the score, given the sums of the rows of all sentences."""

    def statistics(self, hypotheses: list[str], references: list[str]) -> Int[np.ndarray, "n k"]:
        """Return the row of each sentence.

        Raises:
            ValueError: the numbers of references and hypotheses differ.
        """
        rows = [self.row(*pair) for pair in zip(hypotheses, references, strict=True)]
        return np.array(rows, dtype=np.int64).reshape(-1, len(self.sums))

    def update(self, rows: Int[np.ndarray, "n k"]) -> None:
        """Add the rows that `statistics` returned for some sentences."""
        self.sums += torch.from_numpy(rows.sum(0)).to(self.sums.device)

    def compute(self) -> Float[Tensor, ""]:
        """Return the score as float64."""
        score = self.score(self.sums.cpu().numpy())
        return torch.tensor(score, dtype=torch.float64, device=self.sums.device)


class Scoring:
    """The preparation of translations and references before BLEU is computed.

    The class itself changes nothing: letter case is kept, and only sacreBLEU tokenises the text.
    Compare models by this BLEU. `tokenize` is the name of the sacreBLEU tokeniser that runs after
    `prepare`.
    """

    def __init__(self, tokenize: str = USUAL_BLEU):
        self.tokenize = tokenize

    def prepare(self, sentence: str) -> str:
        """Return the sentence as it is passed to sacreBLEU."""
        return sentence

    def sign(self, signature: str) -> str:
        """Return sacreBLEU's signature, changed to describe the effect of `prepare`."""
        return signature


WORDS = re.compile("[A-Za-z ]*")


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
        if WORDS.fullmatch(sentence):  # Moses has rules for other characters
            return " ".join(sentence.split()).lower()
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
    return Tokenised(language) if tokenize in (USUAL_BLEU, "intl") else Lowered(tokenize)


# Columns of a row of statistics: sys_len, ref_len, 4 counts of matches, 4 totals.
WIDTH = 10
SMOOTHING = "exp"


def bleu_from_statistics(sums: Int[np.ndarray, "10"]) -> float:
    """Return BLEU (0 to 100), computed by sacreBLEU from statistics summed over sentences."""
    sys_len, ref_len, *rest = (int(value) for value in sums)
    score = BLEU.compute_bleu(rest[:4], rest[4:], sys_len, ref_len, smooth_method=SMOOTHING)
    return float(score.score)


def bleu_of_resamples(sums: Int[np.ndarray, "R 10"]) -> Float[np.ndarray, " R"]:
    """Return the BLEU of each row of summed statistics, such as those of bootstrap resamples.

    The result equals `bleu_from_statistics` of each row up to rounding (1e-9); a loop over
    thousands of rows would be too slow.
    """
    sys_len, ref_len = sums[:, 0], sums[:, 1]
    counts, totals = sums[:, 2:6], sums[:, 6:]
    halvings = (counts == 0).cumsum(1)
    matches = np.where(counts > 0, counts, 0.5**halvings)
    log_precision = np.log(matches / np.maximum(totals, 1)).mean(1)
    log_brevity = np.minimum(0.0, 1.0 - ref_len / np.maximum(sys_len, 1))
    scored = counts.any(1) & totals.all(1)
    return np.where(scored, 100.0 * np.exp(log_brevity + log_precision), 0.0)


class CorpusBleu(CorpusScore):
    """Compute corpus BLEU from sacreBLEU's n-gram counts, summed over batches and processes.

    BLEU of all sentences added so far, equal to sacreBLEU's for any number of devices.

    Equation: BLEU = 100 exp(min(0, 1 - r/c)) (p_1 p_2 p_3 p_4)^(1/4), p_n the fraction of the
        hypotheses' n-grams that occur in their references, and r and c the numbers of tokens of
        references and hypotheses. The k-th order without any match counts as p_n = 1 / (2^k
        total_n) (sacreBLEU's smoothing `exp`).
    Source: Papineni et al. 2002, ACL P02-1040; sacreBLEU, arXiv:1804.08771. The score needs only
        ten integers per sentence, which can be summed exactly in any order.

    `signature` is sacreBLEU's signature, including the preparation of the text.

    Raises:
        UserError: the required tokeniser is not installed.
    """

    def __init__(self, scoring: Scoring):
        super().__init__(WIDTH)
        self.scoring = scoring
        # force: suppresses the warning about tokenised text
        self.bleu = BLEU(tokenize=scoring.tokenize, force=True, smooth_method=SMOOTHING)
        self.bleu.corpus_score(["a"], [["a"]])  # the signature is available only after scoring
        self.signature = scoring.sign(str(self.bleu.get_signature()))

    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return the ten sufficient statistics of BLEU for a sentence."""
        prepare = self.scoring.prepare
        score = self.bleu.corpus_score([prepare(hypothesis)], [[prepare(reference)]])
        return [score.sys_len, score.ref_len, *score.counts, *score.totals]

    def score(self, sums: Int[np.ndarray, "10"]) -> float:
        """Return BLEU, 0 to 100."""
        return bleu_from_statistics(sums)


class CorpusChrf(CorpusScore):
    """Compute corpus chrF from sacreBLEU's character n-grams, summed over batches and processes.

    chrF of all sentences added so far, equal to sacreBLEU's for any number of devices.

    Equation: chrF = 100 (1 + b^2) P R / (b^2 P + R), b = 2; P and R are the precision and the
        recall of character n-grams, n = 1 to 6, each averaged over the orders.
    Source: Popovic 2015, ACL W15-3049; sacreBLEU, arXiv:1804.08771. The score is of raw text, with
        letter case.

    `signature` is sacreBLEU's signature.
    """

    def __init__(self) -> None:
        super().__init__(3 * CHRF.CHAR_ORDER)
        self.chrf = CHRF()
        self.chrf.corpus_score(["a"], [["a"]])  # the signature is available only after scoring
        self.signature = str(self.chrf.get_signature())

    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return three counts for each order n of character n-grams.

        The counts are the n-grams of the hypothesis, of the reference, and in common. N-grams of
        the hypothesis count only if the reference has n-grams of the same order.
        """
        (row,) = self.chrf._extract_corpus_statistics([hypothesis], [[reference]])
        return list(row)

    def score(self, sums: Int[np.ndarray, "18"]) -> float:
        """Return chrF, 0 to 100.

        Orders for which the hypotheses or the references have no n-grams are left out of the means.
        """
        return float(self.chrf._compute_f_score(sums.tolist()))


ENDING = 2  # letters of gender, number and case in Sodak

Words = list[str]
Counts = tuple[int, int]  # numerator and denominator


def shared(hypothesis: Words, other: Words) -> Counts:
    """Return twice the number of common words, and the number of words of both sentences."""
    return 2 * (Counter(hypothesis) & Counter(other)).total(), len(hypothesis) + len(other)


def shared_stems(hypothesis: Words, other: Words) -> Counts:
    """Return the counts of `shared` for words without their last two letters."""
    return shared([word[:-ENDING] for word in hypothesis], [word[:-ENDING] for word in other])


def order_counts(hypothesis: Words, other: Words) -> Counts:
    """Return two counts of word pairs for Kendall's tau of word order.

    A pair has two words that occur exactly once in both sentences. The first count is the number of
    pairs in the same order minus the number in opposite order, the second the number of pairs.
    """
    there = {word: place for place, word in enumerate(other) if other.count(word) == 1}
    places = [there[word] for word in hypothesis if word in there and hypothesis.count(word) == 1]
    pairs = [1 if first < second else -1 for first, second in combinations(places, 2)]
    return sum(pairs), len(pairs)


class WordScore(CorpusScore):
    """Score word choice and word order of translations separately.

    A ratio of counts, summed over all sentences added so far, equal for any number of devices.

    Equation: F1 = 2 m / (h + r), with m common words (counted with multiplicity) and h and r words
        in hypothesis and reference; F1 of stems is the same for words without their last two
        letters. order = (c - d) / (c + d), Kendall's tau, over all pairs of words that occur
        exactly once in both sentences: c pairs have the same order in both sentences, and d pairs
        have not.
    Source: Kendall 1938, doi:10.1093/biomet/30.1-2.81; on reorderings of translations: Birch and
        Osborne 2010, ACL W10-1749.
    What differs: counts are summed over all sentences, so longer ones weigh more. Words are
        separated by spaces, and letter case matters. Stems are not linguistic: words of data=toy
        have endings of two letters, and a stem is the word without its ending.
    What to expect: a translation with the right words in random order has F1 = 1 and order = 0. If
        few words are right, the order is not informative.

    Args:
        count: returns the numerator and the denominator for the words of a hypothesis and of its
            reference.
    """

    signature = "words between spaces, case:mixed"

    def __init__(self, count: Callable[[Words, Words], Counts]) -> None:
        super().__init__(2)
        self.count = count

    def row(self, hypothesis: str, reference: str) -> list[int]:
        """Return the numerator and the denominator of a sentence."""
        return [*self.count(hypothesis.split(), reference.split())]

    def score(self, sums: Int[np.ndarray, "2"]) -> float:
        """Return the sum of all numerators divided by the sum of all denominators; 0 if the
        denominators sum to 0.
        """
        above, below = sums.tolist()
        return above / below if below else 0.0


def corpus_scores(language: str, tokenize: str, *, for_tests: bool) -> dict[str, CorpusScore]:
    """Return the scores of translations by name: BLEU by the tokeniser `tokenize`, and with
    `for_tests` all others.
    """
    scores: dict[str, CorpusScore] = {"bleu": CorpusBleu(Scoring(tokenize))}
    if for_tests:
        scores |= {
            "bleu_tokenised": CorpusBleu(as_in_papers(language, tokenize)),
            "chrf": CorpusChrf(),
            "word_f1": WordScore(shared),
            "stem_f1": WordScore(shared_stems),
            "word_order": WordScore(order_counts),
        }
    return scores


ORDER = 4


def doubt(bleu: CorpusBleu, references: Sequence[str]) -> str:
    """Return the reason why BLEU would be meaningless for these references; "" if there is none."""
    if not references:
        return ""
    lengths = bleu.statistics(list(references), list(references))[:, 0]
    short = float((lengths < ORDER).mean())
    if short <= 0.5:
        return ""
    return (
        f"BLEU by {bleu.scoring.tokenize} cannot mean much here: {short:.0%} of the references "
        f"have fewer than {ORDER} of its tokens. In a script without spaces between words, set "
        "task.tokenize to zh, ja-mecab or flores200; read chrF beside BLEU"
    )
