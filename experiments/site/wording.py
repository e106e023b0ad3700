"""Write sentences for the web pages of claims: how many claims of a document are supported, the
reasons to trust the answer to a claim, and the limits of this answer.

The answer to a claim is the word that combines all verdicts on it, such as "supported". The
sentences of the verdicts themselves come from ablate.words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ablate.ledger.headline import (
    MIXED,
    NOT_TESTABLE,
    NOT_TESTED,
    UNDECIDED,
    Headline,
    is_artificial,
)
from ablate.ledger.verdicts import Finding
from ablate.phrases import counted, listed
from ablate.verdict.stored import OPEN, is_exact
from ablate.verdict.types import INCONCLUSIVE
from experiments.site.view import View

CORRECTION = "with a correction for testing all claims of these pages"
NEVER = "are definitions, customs, titles or opinions, which no experiment"
ONE_NEVER = "is a definition, custom, title or opinion, which no experiment"


@dataclass(frozen=True)
class Changes:
    """How a correction for multiple tests changes the verdicts of a family.

    Args:
        tested: number of verdicts with a test.
        decided: number of these verdicts that are supported or refuted without the correction.
        by_holm: number of decided verdicts that the correction makes undecided.
    """

    tested: int
    decided: int
    by_holm: int


def changes(findings: Iterable[Finding]) -> Changes:
    """Return how Holm's correction changes the verdicts of a family."""
    tested = [finding for finding in findings if finding.corrected]
    decided = [finding for finding in tested if finding.verdict != INCONCLUSIVE]
    return Changes(
        len(tested),
        len(decided),
        sum(finding.corrected != finding.verdict for finding in decided),
    )


def stands(title: str, counts: Mapping[str, int]) -> list[str]:
    """Return at most three sentences on the results for the claims that a document makes.

    A document is a text about the Transformer whose claims are tested; `title` is its title.
    `counts` has the number of claims by result, such as "supported" or "mixed".
    """
    total = sum(counts.values())
    words = ("supported", "refuted", MIXED, UNDECIDED)
    decided = [f"{counts[word]} {word}" for word in words]
    sentences = [f"{title} makes {counted(total, 'claim')}: {listed(decided)}."]
    if waiting := counts[NOT_TESTED]:
        sentences.append(
            f"{counted(waiting, 'claim')} {'is' if waiting == 1 else 'are'} not tested yet."
        )
    if never := counts[NOT_TESTABLE]:
        sentences.append(
            f"{counted(never, 'claim')} {ONE_NEVER if never == 1 else NEVER} can decide."
        )
    return sentences


def support(basis: Sequence[View]) -> Iterator[str]:
    """Yield sentences on the reasons to trust the answer to a claim: whether its tests were planned
    before the runs, on how many runs and experiments it rests, and how many verdicts were
    reproduced.

    `basis` has the verdicts that decide the claim.
    """
    if not basis:
        return
    judged = [view.finding.answer for view in basis]
    planned = [
        view
        for view in basis
        if view.source.verdict["registered"] and not view.finding.answer["exploratory"]
    ]
    older = sum(claim["older_cells"] for claim in judged)
    if len(planned) == len(basis):
        apart = f", except for {counted(older, 'older run')}" if older else ""
        yield (
            f"The question, the margin and the rule were written down before the first run{apart}."
        )
    elif planned:
        yield (
            f"For {len(planned)} of {counted(len(basis), 'verdict')} the question, the margin and "
            "the rule were written down before the first run."
        )
    sources = {view.source.folder: view.source for view in basis}.values()
    runs = sum(source.verdict["runs"] for source in sources)
    yield f"The answer rests on {counted(runs, 'run')} of {counted(len(sources), 'experiment')}."
    if any(map(is_exact, judged)):
        yield "The claim must hold in every case. One case in which it does not would refute it."
    yield from _repeated(basis)
    yield from _corrected(basis, all_remain=True)


def _repeated(basis: Sequence[View]) -> Iterator[str]:
    """Yield a sentence on how many verdicts were reproduced with new seeds."""
    counts = Counter(again["replication"] for view in basis if (again := view.finding.replication))
    if counts:
        named = {OPEN: "undecided before"}
        words = listed([f"{number} {named.get(word, word)}" for word, number in counts.items()])
        yield f"Of {counted(counts.total(), 'verdict')} tested again with fresh seeds: {words}."


def _corrected(basis: Sequence[View], all_remain: bool) -> Iterator[str]:
    """Yield a sentence on how many verdicts stay the same with a correction for testing all
    statistical claims of the site.

    With `all_remain`, the sentence is yielded only if all verdicts stay the same; without it, only
    if some verdicts change.
    """
    findings = [view.finding for view in basis]
    decided = [f for f in findings if f.corrected and f.verdict != INCONCLUSIVE]
    left = sum(finding.corrected == finding.verdict for finding in decided)
    if decided and (left == len(decided)) == all_remain:
        remain = f"{left} of {len(decided)} verdicts remain{'s' * (left == 1)}"
        if len(decided) == 1:
            remain = "the verdict remains" if left else "the verdict would be undecided"
        yield f"{CORRECTION[:1].upper()}{CORRECTION[1:]}, {remain}."


def doubts(basis: Sequence[View]) -> Iterator[str]:
    """Yield sentences on the limits of the answer to a claim, such as small models and exploratory
    verdicts.

    `basis` has the verdicts that decide the claim.
    """
    yield from dict.fromkeys(view.source.bounds for view in basis)
    if many := sum(view.finding.answer["exploratory"] for view in basis):
        yield (
            f"Of {counted(len(basis), 'verdict')} here, {many} {'is' if many == 1 else 'are'} "
            "exploratory: planned after some results had been seen."
        )
    yield from _corrected(basis, all_remain=False)
    judged = [view.finding.answer for view in basis]
    if rates := [claim["false_rate"] for claim in judged if "false_rate" in claim]:
        yield (
            f"In simulations without an effect, up to {max(rates):.1%} of such tests with so few "
            "seeds gave a false verdict."
        )
    if any("learning" in claim and claim["learning"]["still"] for claim in judged):
        yield (
            "The models were still improving when training ended. Longer training may give another "
            "answer."
        )


def is_single(headline: Headline) -> bool:
    """Return whether exactly one verdict decided a claim, and nothing else, such as a replication,
    changed its headline.
    """
    words = {finding.verdict for finding in headline.deciding} | {*headline.verdicts}
    same = {UNDECIDED if word == INCONCLUSIVE else word for word in words} == {headline.word}
    return len(headline.deciding) == 1 and same


def certainty(findings: Sequence[Finding]) -> str:
    """Return sentences on how certain the verdicts below a question are.

    They say how many verdicts would be undecided with a correction for testing all claims of the
    site, and how many were measured on real text.

    Exact verdicts are not counted, because chance plays no part in them.

    Args:
        findings: the verdicts; the first is the one that answers the question most directly.
    """
    chance = [finding for finding in findings if finding.corrected]
    if not chance:
        return "Chance plays no part in these verdicts: each was computed exactly."
    decided = [finding for finding in chance if finding.verdict != INCONCLUSIVE]
    lost = sum(finding.corrected != finding.verdict for finding in decided)
    if chance[0] not in decided:
        sure = "Not sure: the most direct verdict is undecided."
    elif not lost:
        sure = f"Very: {CORRECTION}, all decided verdicts stay the same."
    elif lost == len(decided):
        sure = f"Not very: {CORRECTION}, all of these verdicts would be undecided."
    else:
        some = f"{lost} of the {len(decided)} decided verdicts"
        sure = f"Partly: {CORRECTION}, {some} would be undecided."
    real = sum(not is_artificial(finding.data) for finding in chance)
    of_text = f"{counted(real, 'verdict')} of {len(chance)}" if real else "No verdict"
    return f"{sure} {of_text} {'were' if real > 1 else 'was'} measured on real text."
