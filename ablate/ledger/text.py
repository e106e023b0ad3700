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

from ablate.ledger.headline import HEADLINES, NOT_TESTABLE, NOT_TESTED, Headline, headline
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
UNCERTAIN = "may be chance, because the ledger has so many tests (Holm)"
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

    @property
    def is_unlisted(self) -> bool:
        """Whether the catalogue does not list the claim, because an experiment added it."""
        return self.claim.group == OUTSIDE


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
    """Return how many claims have each headline, the word that combines all verdicts on a claim,
    such as "supported".
    """
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

    def n_matches(text: str) -> int:
        plain, *asked = (each.lower().replace("-", "") for each in (text, *words))
        return sum(bool(re.search(rf"(?<![^\W_]){re.escape(word)}", plain)) for word in asked)

    picked = [
        entry
        for entry in entries
        if state in (None, entry.verdict, TESTED if entry.findings else None)
        and n_matches(entry.text) == len(words)
    ]
    return sorted(picked, key=lambda entry: -n_matches(entry.claim.statement))


def limits(headline: Headline) -> list[str]:
    """Return sentences on parts of a claim without a verdict, on missing evidence, on verdicts that
    replications change, on counterexamples, and on tests that are exploratory or without real text.
    """
    sentences = [*headline.missing]
    for finding, word in zip(headline.deciding, headline.verdicts, strict=True):
        if finding.verdict != word:
            sentences.append(
                f"By {finding.experiment} alone, the claim is {graded(finding.verdict, '')}; by "
                f"all tests of this setting (other studies, fresh seeds), it is {graded(word, '')}."
            )
    if headline.universal:
        sentences.append("One counterexample refutes a claim without exceptions.")
    if headline.exploratory:
        sentences.append("All verdicts that count are exploratory: they do not decide the claim.")
    if headline.artificial:
        sentences.append("Only artificial languages were tested, not real text.")
        sentences += [f"This does not decide it: {headline.real_text}"] * bool(headline.real_text)
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
    """Yield a line for each claim: its headline, its id, its sentence and the experiments that
    decide it. The verdicts on a single claim follow.
    """
    for entry in entries:
        state = f"{MARKS[entry.verdict].letter} {answer_of(entry.headline)}"
        deciding = dict.fromkeys(finding.experiment for finding in entry.headline.deciding)
        line = Text(f"{state}  {entry.claim.id}  {entry.claim.statement}")
        if deciding:
            line.stylize(f"bold {MARKS[entry.verdict].colour}", 0, len(state))
            line.append(f"  [{', '.join(deciding)}]", style="dim")
        yield line
    if len(entries) == 1:
        yield from (Text(f"    {text}", style="dim") for text in _below(entries[0]))


def answer_of(headline: Headline) -> str:
    """Return the text of a headline: its word and its reason. If the verdict of a setting is
    another word, the text also counts the settings by verdict, as in "undecided (settings: 2
    supported, 1 not tested)", and says if they are exploratory or without real text.
    """
    verdicts = Counter(graded(each, "") for each in headline.settings)
    verdicts[NOT_TESTED] = len(headline.missing)
    parts = [f"settings: {_joined(verdicts)}", *["exploratory"] * headline.exploratory]
    parts += ["no real text"] * bool(headline.real_text and headline.artificial)
    differ = headline.settings and {*+verdicts} != {headline.word}
    answer = f"{headline.word} ({', '.join(parts)})" if differ else headline.word
    return ": ".join(filter(None, (answer, headline.reason)))


def _below(entry: Entry) -> Iterator[str]:
    """Yield the lines of text that are printed below a claim: why it is not testable, what limits
    its headline, and the verdicts.
    """
    if entry.standing:
        yield entry.standing["why"]
    yield from limits(entry.headline)
    deciding = entry.headline.deciding
    yield from (_verdict_line(entry, finding) for finding in deciding)
    if rest := [finding for finding in entry.findings if finding not in deciding]:
        yield "Verdicts that do not count (fewer steps, exploratory, artificial, other meanings):"
        yield from (f"    {_verdict_line(entry, finding)}" for finding in rest)


def _verdict_line(entry: Entry, finding: Finding) -> str:
    """Return a line of text for a verdict of an experiment on a claim.

    The line contains the sentence that the experiment tested (unless it is the claim itself), the
    verdict with its evidence, the tested interpretation of the claim, the path of the report, the
    corpus, the number of steps, and reasons to doubt the verdict.
    """
    answer = finding.answer
    parts = [finding.reading, os.path.relpath(finding.folder / "report.md"), finding.place]
    parts += ["exploratory"] if answer["exploratory"] else []
    parts += ["not the sentence of the claim"] if finding.is_unstated else []
    parts += [f"fresh seeds: {finding.replication['replication']}"] if finding.replication else []
    if finding.corrected == INCONCLUSIVE != finding.verdict:
        parts += [UNCERTAIN]
    verdict = f"{short_answer(answer, answer)}. {evidence_line(answer, answer)}"
    asked = answer["statement"].rstrip(".")
    sentence = "" if asked == entry.claim.statement.rstrip(".") else f"{asked}: "
    return f"{sentence}{verdict} ({', '.join(filter(None, parts))})"


def summary(shown: list[Entry], entries: list[Entry]) -> Iterator[str]:
    """Yield sentences on the shown claims. The last sentence says how many of them are supported,
    refuted and so on.

    If all claims are shown, sentences on missing evidence and on the correction for multiple tests
    come before.

    Args:
        shown: the claims that are shown.
        entries: all claims of the ledger.
    """
    if len(shown) == len(entries):
        tested = [finding for entry in entries for finding in entry.findings if finding.corrected]
        decided = [finding for finding in tested if finding.verdict != INCONCLUSIVE]
        remaining = sum(finding.corrected == finding.verdict for finding in decided)
        yield from dict.fromkeys(entry.gone[0] for entry in entries if entry.gone)
        yield f"{remaining} of {len(decided)} decided verdicts still hold after Holm's correction."
    yield f"{len(shown)} of {len(entries)} claims: {_joined(count(shown))}"
