import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import jaxtyping
import pytest

from ablate.data.toy import corpus, mirel, sodak, speaker
from ablate.data.toy.corpus import LONG, USUAL, Toy
from ablate.data.toy.lexicon import (
    ADJECTIVES,
    ADVERBS,
    AMBIGUOUS_NOUNS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
)
from ablate.data.toy.speaker import Speaker
from ablate.data.toy.text import text
from ablate.data.toy.tree import NounPhrase, Pronoun, clauses, own_phrases
from ablate.errors import UserError
from lab.constructions import CONSTRUCTIONS
from lab.toy import block

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "seed": 1,
    "n_train": 2000,
    "n_validation": 100,
    "n_test": 200,
    "n_test_long": 100,
    "max_words": 14,
}


@pytest.fixture(scope="module", autouse=True)
def unchecked():
    """Without run-time type checks: they make a sentence fifty times slower."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        yield


def toy(**changes):
    return Toy(**(SETTINGS | changes))


@pytest.fixture(scope="module")
def splits():
    data = toy()
    return {split: data.read(split) for split in data.splits}


@pytest.fixture(scope="module")
def meanings():
    usual, long = Speaker(USUAL, Random(0)), Speaker(LONG, Random(0))
    return [usual.sentence() for _ in range(2000)] + [long.sentence() for _ in range(300)]


def n_words(line):
    return len(line.split())


# the splits


def test_the_same_settings_give_the_same_sentences(splits):
    again = toy()
    assert all(again.read(split) == splits[split] for split in again.splits)
    assert all(toy(seed=2).read(split) != splits[split] for split in again.splits)


def test_types_are_as_annotated(splits, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", False)
    assert toy(n_train=20).read("train").src == splits["train"].src[:20]


def test_splits_have_the_sizes_asked_for(splits):
    for split, pairs in splits.items():
        assert len(pairs.src) == len(pairs.tgt) == SETTINGS[f"n_{split}"]


def test_no_sentence_is_in_two_splits_nor_twice_in_an_evaluation_split(splits):
    evaluation = [line for split in splits if split != "train" for line in splits[split].src]
    assert len(evaluation) == len(set(evaluation))
    assert set(evaluation).isdisjoint(splits["train"].src)


def test_a_split_does_not_depend_on_the_sizes_of_others(splits):
    other = toy(n_train=100, n_test=1)
    assert other.read("train").src == splits["train"].src[:100]
    assert other.read("validation") == splits["validation"]


@pytest.mark.parametrize("max_words", [8, 24])
def test_test_long_is_longer_than_all_else_in_both_languages(max_words):
    data = toy(max_words=max_words, n_train=500)
    for side in (0, 1):
        lengths = {s: [n_words(line) for line in data.read(s)[side]] for s in data.splits}
        assert max_words < min(lengths["test_long"]) <= max(lengths["test_long"]) <= 2 * max_words
        assert max(max(lengths[s]) for s in ("train", "validation", "test")) <= max_words


def test_fingerprint_tells_settings_apart():
    changes = [{}] + [{key: SETTINGS[key] + 1} for key in SETTINGS]
    made = [toy(**change) for change in changes]
    texts = {
        (variant.fingerprint(), *map(variant.test_fingerprint, variant.splits)) for variant in made
    }
    assert len(texts) == len(changes)
    assert toy().fingerprint() == toy().fingerprint()


@pytest.mark.parametrize("key", ["n_test", "n_test_long"])
def test_the_size_of_a_test_is_no_part_of_what_training_reads(key):
    more, split = toy(**{key: SETTINGS[key] + 1}), key.removeprefix("n_")
    assert more.fingerprint() == toy().fingerprint()
    assert more.test_fingerprint(split) != toy().test_fingerprint(split)


def test_fingerprint_changes_with_the_grammar(tmp_path, monkeypatch):
    package = tmp_path / "toy"
    shutil.copytree(Path(corpus.__file__).parent, package)
    monkeypatch.setattr(corpus, "__file__", str(package / "corpus.py"))
    before = toy().fingerprint()
    lexicon = package / "lexicon.py"
    lexicon.write_text(lexicon.read_text().replace("hesp", "hisp"))
    assert toy().fingerprint() != before


def test_the_config_builds_the_corpus(compose):
    config = compose("data=toy").data
    data = Toy(**{key: config[key] for key in SETTINGS})
    assert data.splits == ("train", "validation", "test", "test_long")
    assert len(data.read("test").src) == config.n_test == 3000
    assert compose("data=toy", "budget.test_sentences=50").data.n_test == 50


@pytest.mark.parametrize("key", ["n_train", "n_validation", "n_test", "n_test_long"])
def test_an_empty_split_is_refused(key):
    with pytest.raises(UserError, match=rf"data\.{key} is 0; it must be 1 or more"):
        toy(**{key: 0})


@pytest.mark.parametrize("max_words", [7, 25])
def test_max_words_out_of_range_is_refused(max_words):
    with pytest.raises(UserError, match=rf"data\.max_words is {max_words}; .* from 8 to 24"):
        toy(max_words=max_words)


def test_an_unknown_split_is_refused():
    with pytest.raises(UserError, match="no split 'dev'; it has train, validation, test, test_l"):
        toy().read("dev")


# the words


def test_words_look_like_their_language(splits):
    lines = [line for pairs in splits.values() for line in pairs.src]
    assert all(re.fullmatch("([^aeiou ][aeiou])+s?", word) for word in set(words(lines)))
    lines = [line for pairs in splits.values() for line in pairs.tgt]
    assert all(re.fullmatch("[a-z]*[aeiou][^aeiou ]+", word) for word in set(words(lines)))


def words(lines):
    return (word for line in lines for word in line.split())


def test_a_word_has_two_meanings_only_where_the_table_says_so():
    entries = NOUNS + VERBS + ADJECTIVES + ADVERBS + PREPOSITIONS
    assert len({word.gloss for word in entries}) == len(entries)
    assert len({word.sodak for word in entries}) == len(entries)
    ambiguous = {w.mirel for w in AMBIGUOUS_NOUNS}
    ambiguous |= {verb.mirel for verb in VERBS if verb.animate_subject is not None}
    count = Counter(word.mirel for word in entries)
    assert count == {form: 2 if form in ambiguous else 1 for form in count}


def test_the_languages_share_no_word(splits):
    src = {word for pairs in splits.values() for word in words(pairs.src)}
    tgt = {word for pairs in splits.values() for word in words(pairs.tgt)}
    assert src.isdisjoint(tgt)


# the grammar


def test_a_sentence_has_one_translation(monkeypatch):
    """Few words make many equal Mirel sentences; all must have been meant alike."""
    all_verbs, all_nouns = speaker.verbs, speaker.nouns
    monkeypatch.setattr(speaker, "verbs", lambda *fit: all_verbs(*fit)[-3:])
    monkeypatch.setattr(speaker, "nouns", lambda *fit: all_nouns(*fit)[-1:])
    for table in ("ADJECTIVES", "ADVERBS", "PREPOSITIONS", "MATERIALS"):
        monkeypatch.setattr(speaker, table, getattr(speaker, table)[:1])
    plain = replace(LONG, definite=1.0, adjective=0.1, compound=0.05, plural=0.1, depth=3)
    drawn = Speaker(plain, Random(0))
    translations = {}
    repeated = 0
    for _ in range(8000):
        meaning = drawn.sentence()
        src, tgt = text(mirel.sentence(meaning)), text(sodak.sentence(meaning))
        repeated += src in translations
        assert translations.setdefault(src, tgt) == tgt
    assert repeated > 1000


def test_every_construction_is_common_in_train(splits):
    speakers = Speaker(USUAL, Random("1 train"))
    drawn = [speakers.sentence() for _ in range(4000)]
    train = set(splits["train"].src)
    used = [meaning for meaning in drawn if text(mirel.sentence(meaning)) in train]
    assert len(used) > 1500
    for construction in CONSTRUCTIONS:
        share = sum(map(construction.shown_by, used)) / len(used)
        assert share > 0.05, construction.name


@pytest.mark.parametrize("construction", CONSTRUCTIONS, ids=lambda c: c.name.split(":")[0])
def test_examples_show_their_construction_and_keep_the_rules(construction):
    for meaning in construction.examples:
        assert construction.shown_by(meaning)
        assert_rules(meaning)


def test_random_sentences_keep_the_rules(meanings):
    for meaning in meanings:
        assert_rules(meaning)


def assert_rules(meaning):
    tgt = f" {text(sodak.sentence(meaning))} "
    for clause in clauses(meaning):
        assert clause.verb.animate_subject in (None, clause.subject.referent.noun.animate)
        assert f" {clause.verb.sodak}{vowel(clause.subject.referent)}t " in tgt
        for phrase in own_phrases(clause):
            assert phrase.referent.noun.domain in (None, clause.verb.domain)
            assert phrase.place is None or phrase.relative is None
        for phrase, case in cases(clause):
            assert re.search(noun_and_its_neighbours(phrase, case), tgt)


def vowel(referent):
    return "i" if referent.plural else {"M": "o", "F": "a", "N": "e"}[referent.noun.gender]


def cases(clause):
    """Yield every noun phrase or pronoun of a clause with the consonant of its case."""
    roles = ((clause.subject, "r"), (clause.object, "n"), (clause.recipient, "m"))
    yield from ((p, case) for p, case in roles if isinstance(p, NounPhrase | Pronoun))
    for phrase in own_phrases(clause):
        if phrase.place:
            yield phrase.place.ground, "m"


def noun_and_its_neighbours(phrase, case):
    ending = vowel(phrase.referent) + case
    if isinstance(phrase, Pronoun):
        return f" h{ending} "
    article = "d" if phrase.definite else "j"
    material = f"{phrase.material.sodak}s" if phrase.material else ""
    plural = "ur" if phrase.referent.plural else ""
    adjective = f" {phrase.adjective.sodak}{ending}" if phrase.adjective else ""
    noun = f"{material}{phrase.referent.noun.sodak}{plural}"
    return f" {article}{ending} {noun}{adjective} "


def test_the_relative_pronoun_has_the_head_s_gender_and_the_gap_s_case(meanings):
    checked = 0
    for meaning in meanings:
        tgt = f" {text(sodak.sentence(meaning))} "
        for clause in clauses(meaning):
            for phrase in own_phrases(clause):
                if phrase.relative:
                    case = "r" if phrase.relative.subject.referent is phrase.referent else "n"
                    assert f" w{vowel(phrase.referent)}{case} " in tgt
                    checked += 1
    assert checked > 500


def test_a_pronoun_means_the_subject_before(meanings):
    checked = 0
    for meaning in meanings:
        pairs = list(zip(meaning, meaning[1:], strict=False))
        pairs += [(clause, clause.content) for clause in clauses(meaning) if clause.content]
        for before, clause in pairs:
            if isinstance(clause.subject, Pronoun):
                assert clause.subject.referent == before.subject.referent
                checked += 1
    assert checked > 500


def test_the_verb_is_second_in_mirel_and_last_in_sodak(meanings):
    for meaning in meanings:
        assert sodak.sentence(meaning)[-1] == sodak.verb(meaning[-1])
        for main in meaning:
            before = [main.adverb] if main.fronted else mirel.nominal(main.subject)
            assert mirel.clause(main)[len(before)].form == main.verb.mirel


def test_both_meanings_of_an_ambiguous_word_are_usual(meanings):
    counts = Counter()
    for clause in (clause for meaning in meanings for clause in clauses(meaning)):
        counts[clause.verb] += 1
        counts.update(phrase.referent.noun for phrase in own_phrases(clause))
    verbs = [verb for verb in VERBS if verb.animate_subject is not None]
    for first, second in [*pairwise(AMBIGUOUS_NOUNS), *pairwise(verbs)]:
        assert first.mirel == second.mirel
        assert 1 / 3 < counts[first] / counts[second] < 3


def pairwise(entries):
    return zip(entries[::2], entries[1::2], strict=True)


# the documentation


def test_the_page_shows_what_the_grammar_says():
    page = (ROOT / "docs/explanation/toy.md").read_text()
    shown = "\n\n".join(map(block, CONSTRUCTIONS))
    assert shown in page, "replace the examples by the output of ablate toy"
