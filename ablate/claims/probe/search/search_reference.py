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
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.claims.probe.random_models import RandomModels
from ablate.config.limits import Range
from ablate.data.vocabulary import BOS, EOS
from ablate.model.base import Seq2Seq
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences
from ablate.search.base import Model
from ablate.search.beam import FIRST, Beam, Beams
from ablate.search.greedy import Greedy

Ids = tuple[int, ...]
Table = dict[Ids, list[float]]  # log-probabilities of the next id, by prefix
SENTENCES = 4
PENALTIES = (
    0.6,
    5.0,
)  # the usual length penalty, and one that nearly always prefers longer translations


@dataclass(kw_only=True)
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

    measures = (
        *("greedy", "greedy_control", "beam_one", "beam_one_usual", "beam_one_large", "gap"),
        *("beam_two", "exhaustive", "size_matters", "kept", "missing", "branching", "first_word"),
    )

    words: Annotated[int, Range(2, 5)]
    longest: Annotated[int, Range(2, 5)]

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return for several pairs of search algorithms the fraction of sentences for which the two
        algorithms return different translations.

        The reference algorithms are `greedy_search`, which takes the most likely word at each step,
        and `beam_search`, both without length penalty. The project's searches are `Greedy` and
        `Beam`. The last four results are not fractions.

        Returns:
            greedy: `Greedy` against `greedy_search`.
            greedy_control: the least likely word at each step against `greedy_search`.
            beam_one: `Beam` of size 1 without length penalty against `greedy_search`.
            beam_one_usual: `Beam` of size 1 with length penalty 0.6 against `greedy_search`.
            beam_one_large: `Beam` of size 1 with length penalty 5 against `greedy_search`.
            beam_two: both translations of `Beam` of size 2 against the two best of `beam_search` of
                size 2.
            exhaustive: `Beam` against `beam_search`, both so large that no hypothesis is dropped.
            size_matters: `beam_search` of size 1 against size 2.
            first_word: the algorithm of `one_step_lookahead` against `beam_search` of size 2.
            gap: smallest difference in log-probability between the two most likely choices at any
                step. If it is above 0, there are no ties.
            kept: largest deviation from 2 of the number of unfinished hypotheses at any step of
                `Beam` of size 2.
            missing: largest number of missing translations if `Beam` of size 2 should return two.
            branching: largest number of hypotheses, minus 2, if the search keeps the two best
                continuations of every hypothesis.
        """
        sentences = [sentence for drawn in self.models(model) for sentence in self.draw(*drawn)]
        values = {
            name: torch.tensor([float(sentence[name]) for sentence in sentences])
            for name in sentences[0]
        }
        extremes = {"gap": values.pop("gap").min()}
        extremes |= {name: values.pop(name).max() for name in ("kept", "missing", "branching")}
        shares = {name: value.mean() for name, value in values.items()}
        return {name: float(value) for name, value in {**shares, **extremes}.items()}

    def draw(self, model: Transformer, generator: torch.Generator) -> list[dict[str, Any]]:
        """Return for each sentence the comparisons that `__call__` describes, for one model with
        random weights.
        """
        few = FewWords(model, self.words)
        src = random_sentences(model, [self.length] * SENTENCES, generator)
        settings = {"max_ratio": 0, "max_extra": self.longest}
        greedy = Greedy(**settings)(few, src)
        single, usual, large = (Beam(1, alpha, **settings)(few, src) for alpha in (0.0, *PENALTIES))
        all_of_them = Beam(self.words**self.longest, 0.0, **settings)(few, src)
        few.rows = []
        two = n_best(Beam(2, 0.0, **settings), few, src[:1], 2)
        kept = max(abs(rows - 2) for rows in few.rows)
        two += n_best(Beam(2, 0.0, **settings), few, src[1:], 2)
        measurements = []
        for number, table in enumerate(self.tables(few, src)):
            reference = greedy_search(table, self.longest)
            best = beam_search(table, self.longest, 2)
            pair = two[number]
            whole = beam_search(table, self.longest, self.words**self.longest)[0]
            measurements.append(
                {
                    "greedy": tuple(greedy[number]) != reference,
                    "greedy_control": greedy_search(table, self.longest, sign=-1) != reference,
                    "beam_one": tuple(single[number]) != reference,
                    "beam_one_usual": tuple(usual[number]) != reference,
                    "beam_one_large": tuple(large[number]) != reference,
                    "gap": smallest_gap(table),
                    "beam_two": pair != best[:2],
                    "exhaustive": tuple(all_of_them[number]) != whole,
                    "size_matters": beam_search(table, self.longest, 1)[0] != best[0],
                    "kept": kept,
                    "missing": 2 - len(pair),
                    "branching": len(two_per_hypothesis(table, self.longest)) - 2,
                    "first_word": one_step_lookahead(table, self.longest) != best[0],
                }
            )
        return measurements

    @torch.no_grad()
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


class ListBeams(Beams):
    """Beams that store the n best finished hypotheses of each sentence.

    `best` is the score that a hypothesis has to exceed: that of the n-th best finished hypothesis
    of its sentence. A sentence is done when no unfinished hypothesis can exceed this score.
    """

    def __init__(self, limits: Int[Tensor, " B"], size: int, length_penalty: float, n: int):
        super().__init__(limits, size, length_penalty)
        self.n = n
        # score and ids of each hypothesis, the best first
        self.lists: list[list[tuple[float, Ids]]] = [[] for _ in range(len(limits))]

    def finish(self, ended: Float[Tensor, "M K"], score: Float[Tensor, "M K"]) -> None:
        """Store the hypotheses that end now and are among the n best of their sentence."""
        quality = ended / self.penalty(self.prefix.size(2) + 1)
        counts = ended >= self.last_place(ended, score)[:, None]
        better = counts & (quality > self.best[self.sentence][:, None])
        for row, beam in better.nonzero().tolist():
            sentence = int(self.sentence[row])
            hypothesis = float(quality[row, beam]), tuple(self.prefix[row, beam].tolist())
            ranked = sorted([*self.lists[sentence], hypothesis], key=lambda entry: -entry[0])
            self.lists[sentence] = ranked[: self.n]
            if len(ranked) >= self.n:
                self.best[sentence] = ranked[self.n - 1][0]


@torch.inference_mode()
def n_best(beam: Beam, model: Model, src: Int[Tensor, "B S"], n: int) -> list[list[Ids]]:
    """Return the n best translations of each source by a beam search, the best first.

    Only hypotheses in the beam are considered, so a list may have fewer than n translations.
    """
    beams = ListBeams(beam.limits(src), beam.size, beam.length_penalty, n)
    beam.run(model, src, beams)
    return [[ids for _, ids in ranked] for ranked in beams.lists]


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
