"""Compare search algorithms with enumeration of all translations of a few words.

Equation: let l(v | y) be the log-probabilities after all prefixes y of up to `longest` words,
    computed by full forward passes. Greedy search takes argmax l at every step; a beam of two keeps
    the two unfinished y v with the largest sums of l, and accepts an ending that is among the two
    best continuations.
Source: beam search as in arXiv:1409.3215, section 3.2. The alternative algorithms, such as one that
    keeps two continuations of every hypothesis, are those of the documents (texts about the
    Transformer) whose claims this project tests.
What differs: the vocabulary is cut to EOS and the first `words` ids after it, so that enumeration
    is possible; PAD and BOS are excluded, ties do not occur, and the references have no early
    stopping and no length penalty.
What to expect: the project's searches return the references' translations; the alternative
    algorithms do not. A beam of one may continue after an ending, and with a large length penalty a
    later ending wins.
"""

import itertools
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.data import BOS, EOS
from ablate.model import Seq2Seq
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from ablate.search import Greedy
from ablate.search.beam import FIRST, Beam
from experiments.search_reference.n_best import Ids, n_best
from experiments.shared.probe.draws import Measured, RandomModels

Table = dict[Ids, list[float]]  # log-probabilities of the next id, by prefix
SENTENCES = 4
# the usual length penalty, and one that nearly always prefers longer translations
PENALTIES = (0.6, 5.0)


class SearchReference(RandomModels):
    """A probe that translates random sentences with models of random weights, by the project's
    greedy search and beam search and by simple reference algorithms.

    Args:
        draws: number of models with random weights, each with 4 random sentences.
        length: number of tokens in a source.
        words: number of tokens besides EOS that a translation may contain.
        longest: maximum number of tokens in a translation.
        seed: seed of weights and sentences.

    Raises:
        UserError: `draws` is below 1, `length` is below 2, or `words` or `longest` is not from 2
            to 5.
    """

    dtype = torch.float32
    largest = ("kept", "kept_control", "missing", "missing_control", "branching")
    smallest = ("gap",)
    mean = (
        *("greedy", "greedy_control", "beam_one", "beam_one_usual", "beam_one_large"),
        *("beam_two", "beam_two_control", "exhaustive", "first_word"),
    )

    words: Annotated[int, Range(2, 5)]
    longest: Annotated[int, Range(2, 5)]

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield for several pairs of search algorithms, and for each sentence, whether the two
        algorithms return different translations.

        The reference algorithms are `greedy_search`, which takes the most likely word at each step,
        and `beam_search`, both without length penalty. The project's searches are `Greedy` and
        `Beam`, and `n_best` of `Beam` for two translations. The last six results are other numbers.

        Yields:
            greedy: `Greedy` against `greedy_search`.
            greedy_control: the least likely word at each step against `greedy_search`.
            beam_one: `Beam` of size 1 without length penalty against `greedy_search`.
            beam_one_usual: `Beam` of size 1 with length penalty 0.6 against `greedy_search`.
            beam_one_large: `Beam` of size 1 with length penalty 5 against `greedy_search`.
            beam_two: both translations of `n_best` with size 2 against the two best of
                `beam_search` of size 2.
            beam_two_control: both translations of `n_best` with size 1 against these two.
            exhaustive: `Beam` against `beam_search`, both so large that no hypothesis is dropped.
            first_word: the algorithm of `one_step_lookahead` against `beam_search` of size 2.
            gap: smallest difference in log-probability between the two most likely choices at any
                step. If it is above 0, there are no ties.
            kept: largest deviation from 2 of the number of unfinished hypotheses at any step of
                `n_best` with size 2.
            kept_control: the same deviation with size 1.
            missing: largest number of missing translations if `n_best` with size 2 should return
                two.
            missing_control: the same number with size 1.
            branching: largest number of hypotheses, minus 2, if the search keeps the two best
                continuations of every hypothesis.
        """
        few = FewWords(model, self.words)
        src = random_sentences(model, [self.length] * SENTENCES, generator)
        settings = {"max_ratio": 0, "max_extra": self.longest}
        greedy = Greedy(**settings)(few, src)
        single, usual, large = (Beam(1, alpha, **settings)(few, src) for alpha in (0.0, *PENALTIES))
        all_of_them = Beam(self.words**self.longest, 0.0, **settings)(few, src)
        singles, single_rows = two_best_translations(Beam(1, 0.0, **settings), few, src)
        pairs, rows = two_best_translations(Beam(2, 0.0, **settings), few, src)
        for number, table in enumerate(self.tables(few, src)):
            reference = greedy_search(table, self.longest)
            best = beam_search(table, self.longest, 2)
            whole = beam_search(table, self.longest, self.words**self.longest)[0]
            yield "greedy", tuple(greedy[number]) != reference
            yield "greedy_control", greedy_search(table, self.longest, sign=-1) != reference
            yield "beam_one", tuple(single[number]) != reference
            yield "beam_one_usual", tuple(usual[number]) != reference
            yield "beam_one_large", tuple(large[number]) != reference
            yield "beam_two", pairs[number] != best[:2]
            yield "beam_two_control", singles[number] != best[:2]
            yield "exhaustive", tuple(all_of_them[number]) != whole
            yield "first_word", one_step_lookahead(table, self.longest) != best[0]
            yield "gap", smallest_gap(table)
            yield "kept", rows
            yield "kept_control", single_rows
            yield "missing", 2 - len(pairs[number])
            yield "missing_control", 2 - len(singles[number])
            yield "branching", len(two_per_hypothesis(table, self.longest)) - 2

    def tables(self, few: "FewWords", src: Int[Tensor, "B S"]) -> list[Table]:
        """Return for each sentence the log-probabilities of the next word after every possible
        prefix of the translation, computed by full forward passes.
        """
        tables: list[Table] = [{} for _ in src]
        for length in range(self.longest + 1):
            prefixes = list(itertools.product(few.words, repeat=length))
            tgt_in = torch.tensor([[BOS, *prefix] for prefix in prefixes])
            for table, sentence in zip(tables, src, strict=True):
                inputs = Seq2Seq(sentence.expand(len(prefixes), -1), tgt_in)
                rows = few.head(few.model(inputs)[:, -1]).log_softmax(-1).tolist()
                table.update(zip(prefixes, rows, strict=True))
        return tables


class FewWords:
    """A model whose target vocabulary is restricted to PAD, BOS, EOS and a few words.

    Args:
        model: the model with the whole vocabulary.
        words: number of words that remain.

    Attributes:
        words: ids of these words.
        rows: number of hypotheses in each decoder step so far.
    """

    def __init__(self, model: Transformer, words: int) -> None:
        self.model, self.words = model, range(FIRST, FIRST + words)
        self.rows: list[int] = []

    def start(self, src: Int[Tensor, "B S"], beams: int) -> Any:
        """Return the decoder's initial state for `beams` hypotheses of each source sentence."""
        return self.model.start(src, beams)

    def step(self, tokens: Int[Tensor, " R"], cache: Any) -> Float[Tensor, "R D"]:
        """Return the decoder's outputs for the last token of each hypothesis, and record the number
        of hypotheses.
        """
        self.rows.append(len(tokens))
        return self.model.step(tokens, cache)

    def head(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits of the restricted vocabulary: PAD, BOS, EOS and a few words."""
        return self.model.head(states)[..., : self.words.stop]


def two_best_translations(
    beam: Beam, few: FewWords, src: Int[Tensor, "B S"]
) -> tuple[list[list[Ids]], int]:
    """Return the two best translations of each source, and the largest deviation from 2 of the
    number of hypotheses in any step, counted for the first source.
    """
    few.rows = []
    first = n_best(beam, few, src[:1], 2)
    deviation = max(abs(rows - 2) for rows in few.rows)
    return first + n_best(beam, few, src[1:], 2), deviation


def greedy_search(table: Table, longest: int, sign: int = 1) -> Ids:
    """Return the translation that takes the most likely word at each step, until this is EOS.

    Args:
        table: log-probabilities of the next word after every prefix.
        longest: largest number of words of the translation.
        sign: 1; or -1, to take the least likely word at each step.
    """
    prefix: Ids = ()
    while len(prefix) < longest:
        row = table[prefix]
        chosen = max(range(EOS, len(row)), key=lambda token: sign * row[token])
        if chosen == EOS:
            break
        prefix = (*prefix, chosen)
    return prefix


def beam_search(table: Table, longest: int, size: int) -> list[Ids]:
    """Return the finished hypotheses of beam search without early stopping or length penalty, most
    likely first.

    Args:
        table: log-probabilities of the next word after every prefix.
        longest: largest number of words of a hypothesis.
        size: number of unfinished hypotheses that are kept at each step.
    """
    live: dict[Ids, float] = {(): 0.0}
    finished: dict[Ids, float] = {}
    for step in range(longest + 1):
        ended = {prefix: score + table[prefix][EOS] for prefix, score in live.items()}
        if step == longest:
            finished |= ended
            break
        going = {
            (*prefix, word): score + table[prefix][word]
            for prefix, score in live.items()
            for word in range(FIRST, len(table[prefix]))
        }
        live = dict(sorted(going.items(), key=lambda scored: -scored[1])[:size])
        last = sorted([*ended.values(), *live.values()], reverse=True)[:size][-1]
        finished |= {prefix: score for prefix, score in ended.items() if score >= last}
    return sorted(finished, key=lambda prefix: -finished[prefix])


def two_per_hypothesis(table: Table, longest: int) -> list[Ids]:
    """Return all translations of `longest` words that arise if the two best next words are kept
    after every prefix.
    """
    live: list[Ids] = [()]
    for _ in range(longest):
        live = [(*prefix, word) for prefix in live for word in two_best(table[prefix])]
    return live


def two_best(row: list[float]) -> list[int]:
    """Return the two most likely next words, ignoring EOS, from a row of log-probabilities."""
    return sorted(range(FIRST, len(row)), key=lambda word: -row[word])[:2]


def one_step_lookahead(table: Table, longest: int) -> Ids:
    """Return the translation by a search that looks one word ahead.

    At each step, the search compares the two most likely words. It takes the word after which the
    most likely continuation, a word or EOS, has the higher probability.
    """
    prefix: Ids = ()
    while len(prefix) < longest:
        row = table[prefix]
        if max(row[EOS:]) == row[EOS]:
            break
        pair = [(*prefix, word) for word in two_best(row)]
        prefix = max(pair, key=lambda extended: max(table[extended][EOS:]))
    return prefix


def smallest_gap(table: Table) -> float:
    """Return the smallest difference in log-probability between the two most likely choices after
    any prefix.
    """
    pairs = (sorted(row[EOS:], reverse=True)[:2] for row in table.values())
    return min(first - second for first, second in pairs)
