"""The interim looks taken at the runs of a claim, as fractions of the planned seeds."""

from collections.abc import Collection

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Asked, Question
from ablate.phrases import name_of
from ablate.stats.spending import ONCE, Fractions

UNASKED = Asked(looks=[], tried=[], regimes=0)


def asked_of(claim: Question, evidence: Evidence) -> Asked:
    """Return what the analysis log says of a claim; nothing for evidence without one.

    The log has the claims that leave something to chance, in their order: a claim that has another
    name since is the same question.
    """
    asked = evidence.registration.get("asked", {})
    names = [name_of(one) for one in evidence.study["claims"] if one["kind"] != "exact"]
    if len(asked) != len(names):
        return asked.get(name_of(claim), UNASKED)
    return dict(zip(names, asked.values(), strict=True)).get(name_of(claim), UNASKED)


def looks_of(claim: Question, evidence: Evidence, seeds: Collection[int]) -> Fractions:
    """The share of the planned seeds that each look saw, this one last.

    `seeds` are those of the claim's runs that ended; a look that saw all of them, or none, counts
    no further. After one that saw all planned seeds nothing of alpha is left: such a look is
    judged as if it were the only one, and is exploratory.
    """
    planned = evidence.study["seeds"]
    saw = [len({*seeds} & {*seen}) for seen in asked_of(claim, evidence)["looks"]]
    earlier = sorted({count for count in saw if 0 < count < len(seeds)})
    if not seeds or any(count >= planned for count in earlier):
        return ONCE
    return tuple(min(1.0, count / planned) for count in (*earlier, len(seeds)))
