"""Join the claims of a catalogue with their verdicts, select claims, and write them in words.

A headline combines all verdicts on a claim in a word, such as "supported" or "mixed".
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from rich.text import Text

from ablate.ledger.headline import HEADLINES, NOT_TESTABLE, Headline, headline
from ablate.ledger.verdicts import (
    Claim,
    Finding,
    collect,
    missing_evidence,
    read_claims,
    read_notes,
)
from ablate.phrases import MARKS
from ablate.verdict.types import INCONCLUSIVE
from ablate.words.answer import evidence_line, graded, short_answer

TESTED = "tested"
UNCERTAIN = "may be chance among so many tests"
OUTSIDE = "Claims of experiments alone"  # group of the claims that claims.csv does not list


@dataclass(frozen=True)
class Entry:
    """A claim of the ledger, with its verdicts in every setting.

    `standing` is the reason why no run can decide the claim, if there is one. `gone` has a sentence
    for each experiment whose evidence on the claim is missing.
    """

    claim: Claim
    findings: tuple[Finding, ...] = ()
    standing: Mapping[str, str] | None = None
    gone: tuple[str, ...] = ()

    @cached_property
    def headline(self) -> Headline:
        """The word that combines all verdicts on the claim, such as "supported" or "mixed", with
        its reasons.
        """
        if self.standing:
            return Headline(NOT_TESTABLE, self.standing["standing"])
        judged = {each.reading for each in self.findings if not each.answer["exploratory"]}
        unasked = read_notes("unasked").get(self.claim.id, {})
        return headline(
            self.findings,
            self.gone,
            universal=self.claim.universal,
            real_text=read_notes("real_text").get(self.claim.id, ""),
            unasked=[reason for reading, reason in unasked.items() if reading not in judged],
        )

    @property
    def verdict(self) -> str:
        """The word that combines all verdicts on the claim, such as "supported" or "mixed"."""
        return self.headline.word

    @property
    def text(self) -> str:
        """The claim with its document and factors, and its experiments with their sentences."""
        tested = (f"{each.experiment} {each.answer['statement']}" for each in self.findings)
        return "\n".join([*map(str, astuple(self.claim)), *tested])

    def sentence_of(self, finding: Finding) -> str:
        """Return the sentence that an experiment tested, and a space; "" if it is the claim's."""
        sentence = finding.answer["statement"].rstrip(".")
        return "" if sentence == self.claim.statement.rstrip(".") else f"{sentence}. "


def read_entries(folder: Path | None) -> list[Entry]:
    """Return all claims of the catalogue, and those that only its experiments make, with their
    verdicts.

    Args:
        folder: the folder with the experiments of the catalogue; None without a catalogue.

    Raises:
        UserError: a verdict or the manifest of saved studies is damaged.
    """
    findings, gone = (collect(folder), missing_evidence(folder)) if folder else ({}, {})
    standings, claims = read_notes("standings"), {claim.id: claim for claim in read_claims()}
    for name in {**findings, **gone}:
        if name not in claims:
            answer = findings[name][0].answer if name in findings else None
            statement, source = (answer["statement"], answer["source"]) if answer else (name, "")
            claims[name] = Claim(name, statement, source, group=OUTSIDE)
    return [
        Entry(claim, (*findings.get(name, ()),), standings.get(name), (*gone.get(name, ()),))
        for name, claim in claims.items()
    ]


def count(entries: Iterable[Entry]) -> dict[str, int]:
    """Return how many claims have each headline, such as "supported"."""
    counted = Counter(entry.verdict for entry in entries)
    return {word: counted[word] for word in HEADLINES}


def pick(entries: list[Entry], state: str | None, words: Sequence[str]) -> list[Entry]:
    """Return the claims that contain all words, ignoring case and hyphens, and have a headline;
    first those whose own sentence contains the most words. An id selects its claim alone.

    Args:
        entries: the whole ledger.
        state: the headline, or "tested" for claims with any verdict; None for all claims.
        words: words, or beginnings of words, that the claim, its document, or the name of an
            experiment or a sentence that it tested must contain.
    """
    if named := [entry for entry in entries if [entry.claim.id] == [*words]]:
        return named
    picked = [
        entry
        for entry in entries
        if state in (None, entry.verdict, TESTED if entry.findings else None)
        and _n_matches(entry.text, words) == len(words)
    ]
    return sorted(picked, key=lambda entry: -_n_matches(entry.claim.statement, words))


def _n_matches(text: str, words: Sequence[str]) -> int:
    plain, *asked = (each.lower().replace("-", "") for each in (text, *words))
    return sum(bool(re.search(rf"(?<![^\W_]){re.escape(word)}", plain)) for word in asked)


def questions(entries: Iterable[Entry], words: Sequence[str] = ()) -> Iterator[list[str]]:
    """Yield each common question that contains all words together with its answer and its claims:
    the question, the answer, and the id of each claim with its headline.

    A question is left out if one of its claims no longer has the headline for which the answer was
    written.
    """
    headlines = {entry.claim.id: entry.headline for entry in entries}
    common = read_notes("questions").items()
    for question, written in sorted(common, key=lambda item: -_n_matches(item[0], words)):
        claims = {id_: headlines[id_] for id_ in written["claims"] if id_ in headlines}
        parts = [question, written["answer"], *written["claims"]]
        current = {id_: headline.word for id_, headline in claims.items()} == written["claims"]
        if current and _n_matches(" ".join(parts), words) == len(words):
            yield [*parts[:2], *(f"{id_}: {answer_of(claims[id_])}" for id_ in claims)]


def limits(headline: Headline) -> list[str]:
    """Return sentences on parts of a claim without a verdict, on missing evidence, on verdicts that
    replications change, and on tests without real text.
    """
    sentences = [*headline.missing]
    for finding, word in zip(headline.deciding, headline.verdicts, strict=True):
        if finding.verdict != word:
            sentences.append(
                f"By {finding.experiment} alone, the claim is {graded(finding.verdict, '')}; by "
                f"all tests of this setting (other studies, fresh seeds), it is {graded(word, '')}."
            )
    if headline.artificial:
        sentences.append("Only artificial languages were tested, not real text.")
    return [*dict.fromkeys(sentences)]


def subjects(entries: Iterable[Entry]) -> Iterator[Text]:
    """Yield a line for each group of claims, with the number of claims by headline: "12 supported,
    3 refuted".
    """
    for group, members in groupby(entries, lambda entry: entry.claim.group):
        yield Text.assemble((group, "bold"), f": {_joined(count(members))}")


def _joined(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def lines(entries: Sequence[Entry]) -> Iterator[Text]:
    """Yield a line for each claim: its headline, its id and its sentence. What limits the headline
    follows, and the tested sentences with their answers; for a single claim, all its verdicts.
    """
    for entry in entries:
        state = f"{MARKS[entry.verdict].letter} {answer_of(entry.headline)}"
        line = Text(f"{state}  {entry.claim.id}  {entry.claim.statement}")
        tests = [*(_verdicts(entry) if len(entries) == 1 else _tests(entry))]
        if deciding := dict.fromkeys(finding.experiment for finding in entry.headline.deciding):
            line.stylize(f"bold {MARKS[entry.verdict].colour}", 0, len(state))
            line.append("" if tests else f"  [{', '.join(deciding)}]", style="dim")
        yield line
        yield from (Text(f"    {text}", style="dim") for text in limits(entry.headline) + tests)


def answer_of(headline: Headline) -> str:
    """Return the text of a headline: its word and its reason. If all experiments give the same
    answer, their answer with its grade replaces the word, as in "supported, but maybe small".
    """
    answers = {_answer(finding) for finding in headline.deciding}
    agreed = len(answers) == 1 and headline.deciding[0].verdict == headline.word
    word = answers.pop() if agreed else headline.word
    return ": ".join(filter(None, (word[0].lower() + word[1:], headline.reason)))


def _answer(finding: Finding) -> str:
    """Return the answer of an experiment with its grade, and whether it may be chance."""
    chance = f" ({UNCERTAIN})" if finding.corrected == INCONCLUSIVE != finding.verdict else ""
    return short_answer(finding.answer, finding.answer) + chance


def _tests(entry: Entry) -> Iterator[str]:
    """Yield a line for each answer and tested sentence, with its experiments, and its corpus if
    real text overrules other corpora; no line for a single answer to the claim's own sentence.
    """
    tests: dict[tuple[str, str], dict[str, None]] = {}
    for finding in entry.headline.deciding + entry.headline.overruled:
        place = f"On {finding.place}: " if entry.headline.overruled and finding.place else ""
        key = place + _answer(finding), entry.sentence_of(finding)
        tests.setdefault(key, {})[finding.experiment] = None
    if entry.headline.missing or [sentence for _, sentence in tests] != [""]:
        for (answer, sentence), experiments in tests.items():
            yield f"{answer}. {sentence}[{', '.join(experiments)}]"


def _verdicts(entry: Entry) -> Iterator[str]:
    """Yield a line for each verdict on a claim, or why the claim is not testable."""
    if entry.standing:
        yield entry.standing["why"]
    deciding = entry.headline.deciding
    yield from (_verdict_line(entry, finding) for finding in deciding)
    if rest := [finding for finding in entry.findings if finding not in deciding]:
        yield "Verdicts that do not count (fewer steps, exploratory, artificial, other meanings):"
        yield from (f"    {_verdict_line(entry, finding)}" for finding in rest)


def _verdict_line(entry: Entry, finding: Finding) -> str:
    """Return a line for a verdict of an experiment on a claim: the verdict, the sentence that the
    experiment tested (unless it is the claim itself) with its evidence, the tested interpretation
    of the claim, the report, the corpus, the number of steps, and reasons to doubt the verdict.
    """
    answer = finding.answer
    parts = [finding.reading, os.path.relpath(finding.folder / "report.md"), finding.place]
    parts += ["exploratory"] if answer["exploratory"] else []
    parts += ["not the sentence of the claim"] if finding.is_unstated else []
    parts += [f"fresh seeds: {finding.replication['replication']}"] if finding.replication else []
    verdict = f"{_answer(finding)}. {entry.sentence_of(finding)}{evidence_line(answer, answer)}"
    return f"{verdict} ({', '.join(filter(None, parts))})"


def summary(shown: list[Entry], entries: list[Entry]) -> Iterator[str]:
    """Yield sentences on the shown claims: how many of them are supported, refuted and so on; if
    all are shown, before that, on missing evidence and on the correction for multiple tests.

    Args:
        shown: the claims that are shown.
        entries: all claims of the ledger.
    """
    if len(shown) == len(entries):
        tested = [finding for entry in entries for finding in entry.findings if finding.corrected]
        decided = [finding for finding in tested if finding.verdict != INCONCLUSIVE]
        remaining = sum(finding.corrected == finding.verdict for finding in decided)
        yield from dict.fromkeys(entry.gone[0] for entry in entries if entry.gone)
        decisive = f"{remaining} of {len(decided)} decided verdicts hold when corrected for"
        yield f"{decisive} the number of all tests (Holm); the others may be chance."
    yield f"{len(shown)} of {len(entries)} claims: {_joined(count(shown))}"
