"""Every synthetic corpus: what it states of itself against counting all that it can draw."""

from collections import Counter, defaultdict
from math import log
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from ablate.config import option_files
from ablate.config.construct import construct
from ablate.config.schema import Batching
from ablate.data.scheme import Char, Word
from ablate.task.texts import LanguageModel, MaskedLanguageModel
from ablate.task.translation import Translation
from ablate.train.job import make_data
from ablate.train.module import Training

CONFIGS = {
    name: node
    for name, path in option_files("data").items()
    if "experiments." in (node := OmegaConf.load(path)).get("_target_", "")
}
SIZES = {"n_train": 300, "n_validation": 60, "n_test": 60}
# instances that can be drawn in few ways
TINY = {
    "copy": {"shortest": 1, "longest": 3, "symbols": 3},
    "reverse": {"shortest": 2, "longest": 4, "symbols": 2},
    "copy_longer": {"shortest": 1, "longest": 3, "symbols": 3},
    "copy_memory": {"words": 2, "symbols": 3, "distance": 1},
    "count": {"length": 4, "symbols": 3},
    "look_up": {"length": 4, "symbols": 3, "offset": 1},
    "two_look_ups": {"length": 5, "symbols": 2, "first": 1, "second": 3},
    "hops": {"nodes": 4, "hops": 2},
    "cycle": {"length": 4, "answer": 3, "symbols": 4},
    "induction": {"length": 4, "symbols": 5},
    "recall": {"pairs": 2, "keys": 3, "values": 3, "distance": 2},
    "xor": {"length": 3},
    "pronouns": {"nouns": 2, "verbs": 1, "adjectives": 1},
    "random_tokens": {"length": 2, "symbols": 3},
    "memorise": {"length": 2, "symbols": 4, "n_train": 8, "n_validation": 8, "n_test": 8},
}
KNOWS_WORDS = (
    "cycle",
    "hops",
    "induction",
    "recall",
)  # whose guesser knows the words and not their order
every_level = pytest.mark.parametrize("name", CONFIGS)


def corpus(name, **changes):
    plain = OmegaConf.to_container(CONFIGS[name])
    del plain["defaults"]
    return construct(OmegaConf.create({**plain, **SIZES, **changes}))


class MoreError(Exception):
    """There is more to choose than was."""


def draws(pair):
    """Yield the probability of every way in which a pair can be drawn, and the pair."""
    waiting = [()]
    while waiting:
        path, chances = waiting.pop(), []

        def choose(n, path=path, chances=chances):
            chances.append(n)
            if len(chances) > len(path):
                waiting.extend((*path, i) for i in range(n))
                raise MoreError
            return path[len(chances) - 1]

        try:
            drawn = pair(choose)
        except MoreError:
            continue
        share = 1.0
        for n in chances:
            share /= n
        yield share, *drawn


def level_of(pairs, knows):
    """Count how well a guesser does who has `knows(source)` and the target tokens before."""
    seen, tokens = defaultdict(Counter), 0.0
    for share, src, tgt in pairs:
        tokens += share * (len(tgt) + 1)
        for t, token in enumerate([*tgt, "EOS"]):
            seen[knows(src), *tgt[:t]][token] += share
    nll = -sum(p * log(p / c.total()) for c in seen.values() for p in c.values())
    return nll / tokens, sum(max(c.values()) for c in seen.values()) / tokens


def guesser(name):
    """What somebody knows of a source who does not have the skill."""
    if name == "pronouns":
        return lambda src: tuple(src[:-1])
    return (lambda src: tuple(sorted(src))) if name in KNOWS_WORDS else (lambda src: ())


@every_level
def test_chance_and_bound_are_what_counting_gives(name):
    data = corpus(name, **TINY[name])
    pairs = list(draws(data.pair))
    assert sum(share for share, *_ in pairs) == pytest.approx(1)
    assert data.chance() == pytest.approx(level_of(pairs, guesser(name)), abs=1e-9)
    if name == "memorise":  # there the pairs are the distribution
        read = zip(*data.read("train"), strict=True)
        pairs = [(1 / 8, src.split(), tgt.split()) for src, tgt in read]
    assert data.bound() == pytest.approx(level_of(pairs, tuple), abs=1e-9)


@pytest.mark.parametrize(
    ("task", "scheme", "applies"),
    [
        (Translation(), Word, True),
        (Translation(), Char, False),  # a token is not a word
        (LanguageModel(attention="context"), Word, False),  # which reads no source
        (MaskedLanguageModel(share=0.15, masked=0.8, random=0.1), Word, False),
    ],
)
def test_a_run_states_levels_only_of_what_it_scores(tmp_path, task, scheme, applies):
    data = make_data(
        *(task, corpus("copy"), scheme(vocab_size=None, joint=True), Batching()),
        **{"cache_dir": str(tmp_path), "seed": 1},
    )
    levels = Training.theoretical_scores.fget(SimpleNamespace(task=task, data=data))
    assert levels == (corpus("copy").theoretical_scores() if applies else {})


@every_level
def test_pairs_belong_to_a_seed_and_a_split(name):
    first, again, other = corpus(name), corpus(name), corpus(name, seed=2)
    for split, size in zip(first.splits, SIZES.values(), strict=False):
        assert first.read(split) == again.read(split) != other.read(split)
        assert len(first.read(split).src) == len(first.read(split).tgt) == size
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


@every_level
def test_no_source_is_in_two_splits(name):
    data = corpus(name)
    train, validation, test = (set(data.read(split).src) for split in data.splits[:3])
    if name == "memorise":
        assert validation == test <= train
        assert len(train) == SIZES["n_train"]
    else:
        assert not (train & validation or train & test or validation & test)


def test_long_copies_are_longer_than_any_in_training_and_the_same_whatever_that_has():
    short, long = corpus("copy_longer"), corpus("copy_longer", longest=18)
    words = [len(line.split()) for line in short.read("test_long").src]
    assert (min(words), max(words)) == (13, 18)
    assert short.read("test_long") == long.read("test_long")
    assert not set(long.read("train").src) & set(long.read("test_long").src)


def test_fingerprints_tell_levels_and_settings_apart():
    assert len({corpus(name).fingerprint() for name in CONFIGS}) == len(CONFIGS)
    assert corpus("copy").fingerprint() != corpus("copy", longest=5).fingerprint()


def one_hop(words):
    table = dict(zip(words[:-1:2], words[1:-1:2], strict=True))
    return [table[words[-1]]]


def xor(words):
    first, second = (words[i + 1] for i, word in enumerate(words) if word == "mark")
    return ["b0" if first == second else "b1"]


def pronoun(words):
    living, thing = sorted((words[0], words[2]))
    number = int((living if words[-1].startswith("tired") else thing)[-1])
    return [*(word.upper() for word in words[:3]), ("he", "she")[number % 2]]


SOLUTIONS = {  # written apart from the corpora
    "copy": lambda words: words,
    "copy_longer": lambda words: words,
    "copy_memory": lambda words: words[8:-8],
    "reverse": lambda words: list(reversed(words)),
    "count": lambda words: [f"n{sum(word == 's0' for word in words)}"],
    "look_up": lambda words: [words[(t + 3) % 12] for t in range(12)],
    "two_look_ups": lambda words: [words[(t + 2) % 12] + words[(t + 7) % 12] for t in range(12)],
    "hops": one_hop,
    "induction": lambda words: [words[words.index(words[-1]) + 1]],
    "recall": lambda words: [dict(zip(words[:4:2], words[1:4:2], strict=True))[words[-1]]],
    "xor": xor,
    "pronouns": pronoun,
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_targets_follow_from_sources(name):
    for src, tgt in zip(*corpus(name).read("train"), strict=True):
        assert tgt.split() == SOLUTIONS[name](src.split())
