"""Search against enumeration: every translation of a few words is looked at.

Equation: with the log-probabilities l(v | y) of all prefixes y of up to `longest` words, taken from
    whole passes, greedy search takes argmax l at every step; a beam of two keeps the two unfinished
    y v with the largest sums of l, and an ending counts that is among the two best continuations.
Source: beam search as in arXiv:1409.3215, section 3.2; the readings are those of the documents.
What differs: the vocabulary is cut to EOS and the first `words` ids after it, so that enumeration
    ends; PAD and BOS cannot be chosen, ties do not occur, and the references never stop early and
    have no length penalty.
What to expect: the project's searches give the references' translations, other accounts others. A
    beam of one may go on after an ending, and with a large length penalty a later one wins.
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
from ablate.search.beam import FIRST, Beam
from ablate.search.greedy import Greedy

Ids = tuple[int, ...]
Table = dict[Ids, list[float]]  # log-probabilities of the next id, by the words before
SENTENCES = 4
PENALTIES = (
    0.6,
    5.0,
)  # the usual length penalty, and one with which longer is nearly always better


@dataclass(kw_only=True)
class SearchReference(RandomModels):
    """Translates random sentences under random weights.

    Args:
        draws: weights that are tried, with SENTENCES sentences each.
        length: tokens of a source.
        words: ids that may be chosen beside EOS.
        longest: words of the longest translation.
        seed: of weights and sentences.

    Raises:
        UserError: `draws` below 1, `length` below 2, `words` or `longest` not in 2 to 5.
    """

    measures = (
        *("greedy", "greedy_control", "beam_one", "beam_one_usual", "beam_one_large", "gap"),
        *("beam_two", "exhaustive", "size_matters", "kept", "missing", "branching", "first_word"),
    )

    words: Annotated[int, Range(2, 5)]
    longest: Annotated[int, Range(2, 5)]

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return shares of sentences with another translation than the reference's.

        greedy, beam_one, beam_one_usual, beam_one_large, against the likeliest word each time: of
        greedy search and of beams of one without a length penalty and with those of PENALTIES;
        greedy_control: of the least likely word each time; beam_two: the two translations of a beam
        of two against the reference's; exhaustive: a beam as wide as there are translations against
        the best of all; size_matters: a beam of one against two; first_word: keeping the better of
        two words by what follows it against a beam of two. Not shares: gap, the least distance of
        the two likeliest choices; kept, how far the hypotheses at a step are from two, at most;
        missing, how many of two translations are not returned, at most; branching, how many
        hypotheses above two there are where the two best continuations of each are kept.
        """
        found = [one for drawn in self.models(model) for one in self.draw(*drawn)]
        values = {name: torch.tensor([float(one[name]) for one in found]) for name in found[0]}
        extremes = {"gap": values.pop("gap").min()}
        extremes |= {name: values.pop(name).max() for name in ("kept", "missing", "branching")}
        shares = {name: value.mean() for name, value in values.items()}
        return {name: float(value) for name, value in {**shares, **extremes}.items()}

    def draw(self, model: Transformer, generator: torch.Generator) -> list[dict[str, Any]]:
        """Return the measurements of each sentence under one set of weights."""
        few = FewWords(model, self.words)
        src = random_sentences(model, [self.length] * SENTENCES, generator)
        settings = {"max_ratio": 0, "max_extra": self.longest}
        greedy = Greedy(**settings)(few, src)
        one, usual, large = (Beam(1, alpha, **settings)(few, src) for alpha in (0.0, *PENALTIES))
        all_of_them = Beam(self.words**self.longest, 0.0, **settings)(few, src)
        few.rows = []
        two = Beam(2, 0.0, **settings).n_best(few, src[:1], 2)
        kept = max(abs(rows - 2) for rows in few.rows)
        two += Beam(2, 0.0, **settings).n_best(few, src[1:], 2)
        found = []
        for number, table in enumerate(self.tables(few, src)):
            reference = greedy_search(table, self.longest)
            best = beam_search(table, self.longest, 2)
            pair = [tuple(hypothesis.ids) for hypothesis in two[number]]
            whole = beam_search(table, self.longest, self.words**self.longest)[0]
            found.append(
                {
                    "greedy": tuple(greedy[number]) != reference,
                    "greedy_control": greedy_search(table, self.longest, sign=-1) != reference,
                    "beam_one": tuple(one[number]) != reference,
                    "beam_one_usual": tuple(usual[number]) != reference,
                    "beam_one_large": tuple(large[number]) != reference,
                    "gap": smallest_gap(table),
                    "beam_two": pair != best[:2],
                    "exhaustive": tuple(all_of_them[number]) != whole,
                    "size_matters": beam_search(table, self.longest, 1)[0] != best[0],
                    "kept": kept,
                    "missing": 2 - len(pair),
                    "branching": len(two_of_each(table, self.longest)) - 2,
                    "first_word": by_what_follows(table, self.longest) != best[0],
                }
            )
        return found

    @torch.no_grad()
    def tables(self, few: "FewWords", src: Int[Tensor, "B S"]) -> list[Table]:
        """Return the log-probabilities after every prefix, for each sentence, from whole passes."""
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
    """A model whose vocabulary is cut to PAD, BOS, EOS and a few words; it counts rows."""

    def __init__(self, model: Transformer, words: int) -> None:
        self.model, self.words = model, range(FIRST, FIRST + words)
        self.rows: list[int] = []

    def start(self, src: Int[Tensor, "B S"], beams: int) -> Any:
        """Return the decoder's memory."""
        return self.model.start(src, beams)

    def step(self, tokens: Int[Tensor, " R"], cache: Any) -> Float[Tensor, "R D"]:
        """Return the states after each row's last token."""
        self.rows.append(len(tokens))
        return self.model.step(tokens, cache)

    def head(self, states: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits of the ids that are left."""
        return self.model.head(states)[..., : self.words.stop]


def greedy_search(table: Table, longest: int, sign: int = 1) -> Ids:
    """Return the words of the likeliest choice at every step; with sign -1 of the least likely."""
    prefix: Ids = ()
    while len(prefix) < longest:
        row = table[prefix]
        chosen = max(range(EOS, len(row)), key=lambda token: sign * row[token])
        if chosen == EOS:
            break
        prefix = (*prefix, chosen)
    return prefix


def beam_search(table: Table, longest: int, size: int) -> list[Ids]:
    """Return the finished hypotheses of a beam, the likeliest first; no early stop, no penalty."""
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
        live = dict(sorted(going.items(), key=lambda one: -one[1])[:size])
        last = sorted([*ended.values(), *live.values()], reverse=True)[:size][-1]
        finished |= {prefix: score for prefix, score in ended.items() if score >= last}
    return sorted(finished, key=lambda prefix: -finished[prefix])


def two_of_each(table: Table, longest: int) -> list[Ids]:
    """Return the hypotheses of `longest` words when the two best words after each are kept."""
    live: list[Ids] = [()]
    for _ in range(longest):
        live = [(*prefix, word) for prefix in live for word in two_best(table[prefix])]
    return live


def two_best(row: list[float]) -> list[int]:
    """Return the two likeliest words, whatever the end symbol."""
    return sorted(range(FIRST, len(row)), key=lambda word: -row[word])[:2]


def by_what_follows(table: Table, longest: int) -> Ids:
    """Return the words that are kept when, of the two best, that with the likelier next one is."""
    prefix: Ids = ()
    while len(prefix) < longest:
        row = table[prefix]
        if max(row[EOS:]) == row[EOS]:
            break
        pair = [(*prefix, word) for word in two_best(row)]
        prefix = max(pair, key=lambda one: max(table[one][EOS:]))
    return prefix


def smallest_gap(table: Table) -> float:
    """Return the least distance between the two likeliest choices after any prefix."""
    pairs = (sorted(row[EOS:], reverse=True)[:2] for row in table.values())
    return min(first - second for first, second in pairs)
