"""Write the caveats of a study that are about single claims, as sentences.

A caveat about some of the claims begins with the numbers of these claims: "Claims 1 and 3: ...".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import mean

from ablate.config.labels import arm_label, texts_of_task
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.table import by_label
from ablate.evidence.types import Claim, Entry, Run
from ablate.metric.table import metric_in_words
from ablate.phrases import claims_numbered, counted, listed, name_of, number_of, quoted
from ablate.stats.estimate import SEEDS
from ablate.stats.false_rates import CLUSTERED, FEW, HIDDEN, SKEWED
from ablate.verdict.contrast import asked_of
from ablate.verdict.judge import seen_noise
from ablate.verdict.kind.base import Finding, Judged
from ablate.verdict.sides import pairs
from ablate.verdict.wording.details import direction
from ablate.verdict.wording.effects import failures

OF_HOLM = "The answers are corrected"
ALIKE = 0.01  # largest relative difference in parameters of arms that count as matched
Rule = Callable[[Finding, Entry, Evidence], Iterator[str]]  # yields the caveats on a claim
NOISE = {  # the simulations in which the rate of wrong answers was measured, in words
    FEW: "{seeds} seeds and skewed differences",
    SKEWED: "{seeds} seeds and differences as skewed as those measured",
    CLUSTERED: "{seeds} seeds and differences that form two clusters, as here",
    HIDDEN: "{seeds} seeds and rare extreme runs",
}


def subject_of(claims: Iterable[Entry], evidence: Evidence) -> str:
    """Return the start of a caveat: the numbers of its claims, such as "Claims 1 and 3: ".

    The result is "" if the caveat is about all claims.
    """
    numbers = number_of(evidence.study["claims"])
    chosen = sorted({numbers[name_of(claim)] for claim in claims})
    return "" if len(chosen) == len(numbers) else f"{claims_numbered(chosen)}: "


def merged(rule: Rule, judged: Iterable[Judged], evidence: Evidence) -> Iterator[str]:
    """Yield every caveat of a rule once, after the numbers of the claims that it is about.

    Args:
        rule: yields the caveats on a claim.
        judged: the claims.
        evidence: the evidence of the study.
    """
    groups: dict[str, list[Entry]] = {}
    for finding, entry in judged:
        for caveat in rule(finding, entry, evidence):
            groups.setdefault(caveat, []).append(entry)
    for caveat, alike in groups.items():
        yield f"{subject_of(alike, evidence)}{caveat}"


def claim_caveats(
    evidence: Evidence, judged: Sequence[Judged], waiting: Sequence[Claim]
) -> Iterator[str]:
    """Yield the caveats on single claims as sentences.

    Args:
        evidence: the evidence of the study.
        judged: the claims.
        waiting: planned claims that lack the runs of an arm.
    """
    for claim in judged:
        yield from merged(_of_estimate, [claim], evidence)
    yield from merged(_of_age, judged, evidence)
    yield from merged(_of_noise, judged, evidence)
    tested = sum(bool(entry["p"]) for _, entry in judged)
    family = tested + sum(claim["kind"] != "exact" for claim in waiting)
    if tested and family > 1:
        yield (
            f"{OF_HOLM} for testing {family} claims at once (Holm). The intervals are not "
            "corrected."
        )
    yield from merged(_of_interval, judged, evidence)
    yield from merged(_of_log, judged, evidence)


def of_sizes(finding: Finding, _: Entry, evidence: Evidence) -> Iterator[str]:
    """Yield a caveat if compared arms have different numbers of trained parameters."""
    if finding.problem:
        return
    names = {runs[0]["arm"]: label for label, runs in by_label(evidence.runs).items()}
    step = 1 if finding.claim["kind"] == "trend" else 2  # a trend compares neighbouring levels
    arms = zip(finding.sides[::step], finding.sides[1::step], strict=False)
    compared = (sorted(pair, key=_size) for first, second in arms for pair in pairs(first, second))
    if sizes := "; ".join(dict.fromkeys(filter(None, (_apart(x, names) for x in compared)))):
        yield f"The arms differ in trained parameters: {sizes}."


def _apart(pair: Sequence[Run], names: Mapping[str, str]) -> str:
    small, large = pair
    more = _size(large) / _size(small) - 1 if _size(small) else 0.0
    if more <= ALIKE:
        return ""
    return (
        f"{_size(large):,} with {quoted(names[large['arm']])} against {_size(small):,} with "
        f"{quoted(names[small['arm']])} ({100 * more:.0f} % more)"
    )


def _size(run: Run) -> int:
    return int(run["metrics"].get("parameters") or 0)


def _of_estimate(finding: Finding, entry: Entry, _: Evidence) -> Iterator[str]:
    if finding.paired and (unpaired := finding.paired.unpaired):
        seed, verb = ("Seeds", "are") if len(unpaired) > 1 else ("Seed", "is")
        yield (
            f"{seed} {listed(unpaired)} {verb} left out, because a run of the pair, or the metric "
            "of a run, is missing."
        )
    failed = failures(finding.claim, entry)
    if failed and not entry.get("decided_by_failures") and entry["effect"] is not None:
        yield f"{failed}. The estimate leaves out their seeds in every arm."
    yield from _turns(finding, entry)
    if entry["method"].startswith("sign test"):
        yield (
            f"The differences of all {entry['pairs']} seeds are exactly equal, so the interval has "
            "no width. Only the number of seeds shows how certain the answer is."
        )


def _turns(finding: Finding, entry: Entry) -> Iterator[str]:
    """Yield a caveat for neighbouring levels of a trend between which the mean changes in the
    opposite direction of the slope.
    """
    claim, paired, slope = finding.claim, finding.paired, entry["effect"]
    if claim["kind"] != "trend" or claim["minus"] or paired is None or slope is None:
        return
    means = [
        mean(value(run, claim["metric"]) for seed in paired.seeds for run in side.runs[seed])
        for side in paired.sides
    ]
    metric = metric_in_words(claim["metric"], claim.get("measures"))
    for (first, before), (second, after) in pairwise(zip(paired.sides, means, strict=True)):
        if direction(claim) * (after - before) * slope < 0:
            yield (
                "The slope is an average over all levels. From "
                f"{quoted(arm_label(first.levels))} to {quoted(arm_label(second.levels))} the "
                f"trend reverses: the mean of {metric.name} "
                f"{'rises' if after > before else 'falls'} by {metric.say(abs(after - before))}."
            )


def _of_age(_: Finding, entry: Entry, __: Evidence) -> Iterator[str]:
    """Yield a caveat on a claim with runs that were made before the study was registered."""
    if older := entry["older_cells"]:
        runs = f"{counted(older, 'run')} {'were' if older > 1 else 'was'}"
        then = ", so the answer is exploratory" if entry["exploratory"] else ""
        yield f"{runs} made before the study was registered{then}."


def _of_noise(finding: Finding, _: Entry, __: Evidence) -> Iterator[str]:
    """Yield a caveat on a claim whose test errs more often in simulations than alpha allows.

    The reason is the distribution of the paired differences, such as a skewed one.
    """
    if noise := seen_noise(finding):
        yield (
            f"In simulations with {NOISE[noise.reason].format(seeds=noise.seeds)}, up to "
            f"{100 * noise.rate:.1f} % of the answers were wrong, instead of the "
            f"{100 * noise.nominal:.1f} % that the test allows (docs/explanation/calibration.md)."
        )


def _of_interval(_: Finding, entry: Entry, evidence: Evidence) -> Iterator[str]:
    if entry["p"] and entry["levels_of_noise"] == SEEDS and entry["interval"]:
        texts = texts_of_task(evidence.registration.get("components", {}))
        yield (
            "The intervals include the variation between seeds, but not the variation between "
            f"test {texts}."
        )


def _of_log(_: Finding, entry: Entry, evidence: Evidence) -> Iterator[str]:
    """Yield caveats from the history of a claim in the analysis log.

    The log has the interim analyses, earlier sweeps that asked the same question, and other
    settings (data, size, budget) in which the question was asked.
    """
    asked = asked_of(entry, evidence)
    for attempt in asked["tried"]:
        yield f"The answer is exploratory, since the question was asked before: {attempt}."
    if shares := entry.get("information"):
        yield (
            f"The answer comes from the planned analysis number {len(shares)}, after "
            f"{100 * shares[-1]:.0f} % of the seeds. The significance level and the interval are "
            "corrected for repeated analyses (O'Brien-Fleming)."
        )
    if settings := asked["regimes"]:
        yield (
            f"The same question was also asked in {counted(settings, 'other setting')} (another "
            "corpus, model size, number of steps or device)."
        )
