"""Write sentences on the reasons to trust the answer to a claim, and on the limits of this answer.

The answer to a claim is the word that combines all verdicts on it, such as "supported".
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from ablate.evidence.types import ReportedClaim
from ablate.ledger.headline import is_artificial
from ablate.ledger.verdicts import Finding
from ablate.phrases import listed
from ablate.site.source import Source
from ablate.site.wording import counted
from ablate.verdict.decision import INCONCLUSIVE, is_exact
from ablate.verdict.replication import OPEN

CORRECTION = "with a correction for testing all claims of these pages"

Basis = list[tuple[Finding, Source, ReportedClaim | None]]  # the verdicts that decide a claim


def support(basis: Basis) -> Iterator[str]:
    """Yield sentences on the reasons to trust the answer to a claim: whether its tests were planned
    before the runs, on how many runs and experiments it rests, and how many verdicts were
    reproduced.

    `basis` has the verdicts that decide the claim.
    """
    if not basis:
        return
    planned = [finding for finding, _, _ in basis if finding.registered and not finding.exploratory]
    older = sum(claim["older_cells"] for _, _, claim in basis if claim)
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
    sources = {source.folder: source for _, source, _ in basis}.values()
    runs = sum(source.verdict["runs"] for source in sources)
    yield f"The answer rests on {counted(runs, 'run')} of {counted(len(sources), 'experiment')}."
    if any(claim and is_exact(claim) for _, _, claim in basis):
        yield "The claim must hold in every case. One case in which it does not would refute it."
    yield from _repeated(basis)
    yield from _corrected(basis, all_remain=True)


def _repeated(basis: Basis) -> Iterator[str]:
    """Yield a sentence on how many verdicts were reproduced with new seeds."""
    counts = Counter(finding.again["replication"] for finding, _, _ in basis if finding.again)
    if counts:
        words = listed(
            [
                f"{number} {'undecided before' if word == OPEN else word}"
                for word, number in counts.items()
            ]
        )
        yield f"Of {counted(counts.total(), 'verdict')} tested again with fresh seeds: {words}."


def _corrected(basis: Basis, all_remain: bool) -> Iterator[str]:
    """Yield a sentence on how many verdicts stay the same with a correction for testing all
    statistical claims of the site.

    With `all_remain`, the sentence is yielded only if all verdicts stay the same; without it, only
    if some verdicts change.
    """
    decided = [f for f, _, _ in basis if f.ledger_wide and f.verdict != INCONCLUSIVE]
    left = sum(finding.ledger_wide == finding.verdict for finding in decided)
    if decided and (left == len(decided)) == all_remain:
        remain = f"{left} of {len(decided)} verdicts remain{'s' * (left == 1)}"
        if len(decided) == 1:
            remain = "the verdict remains" if left else "the verdict would be undecided"
        yield f"{CORRECTION[:1].upper()}{CORRECTION[1:]}, {remain}."


def doubts(basis: Basis) -> Iterator[str]:
    """Yield sentences on the limits of the answer to a claim, such as small models and exploratory
    verdicts.

    `basis` has the verdicts that decide the claim.
    """
    yield from dict.fromkeys(source.bounds for _, source, _ in basis)
    if many := sum(finding.exploratory for finding, _, _ in basis):
        yield (
            f"Of {counted(len(basis), 'verdict')} here, {many} {'is' if many == 1 else 'are'} "
            "exploratory: planned after some results had been seen."
        )
    yield from _corrected(basis, all_remain=False)
    judged = [claim for _, _, claim in basis if claim]
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


def certainty(findings: Sequence[Finding]) -> str:
    """Return sentences on how certain the verdicts below a question are.

    They say how many verdicts would be undecided with a correction for testing all claims of the
    site, and how many were measured on real text.

    Exact verdicts are not counted, because chance plays no part in them.

    Args:
        findings: the verdicts; the first is the one that answers the question most directly.
    """
    chance = [finding for finding in findings if finding.ledger_wide]
    if not chance:
        return "Chance plays no part in these verdicts: each was computed exactly."
    decided = [finding for finding in chance if finding.verdict != INCONCLUSIVE]
    lost = sum(finding.ledger_wide != finding.verdict for finding in decided)
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
