"""Write the caveats of a study that are about single claims, as sentences.

A caveat about some of the claims begins with the numbers of these claims: "Claims 1 and 3: ...".
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import mean

from ablate.config.labels import arm_label, texts_of_task
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.types import Claim, Entry
from ablate.metric.table import metric_in_words
from ablate.phrases import claims_numbered, counted, listed, name_of, number_of, quoted
from ablate.stats.estimate import SEEDS
from ablate.stats.false_rates import CLUSTERED, FEW, HIDDEN, SKEWED
from ablate.verdict.contrast import asked_of
from ablate.verdict.judge import seen_noise
from ablate.verdict.kind.base import Finding
from ablate.verdict.wording.details import direction
from ablate.verdict.wording.effects import failures

OF_HOLM = "The answers are corrected"
NOISE = {  # the simulations in which the rate of wrong answers was measured, in words
    FEW: "{seeds} seeds and skewed differences",
    SKEWED: "{seeds} seeds and differences as skewed as those measured",
    CLUSTERED: "{seeds} seeds and differences that form two clusters, as here",
    HIDDEN: "{seeds} seeds and rare extreme runs",
}


def subject_of(claims: Sequence[Claim | Entry], evidence: Evidence) -> str:
    """Return the start of a caveat: the numbers of its claims, such as "Claims 1 and 3: ".

    The result is "" if the caveat is about all claims.
    """
    numbers = number_of(evidence.study["claims"])
    chosen = sorted({numbers[name_of(claim)] for claim in claims})
    return "" if len(chosen) == len(numbers) else f"{claims_numbered(chosen)}: "


def merged(lines: Iterable[tuple[Claim | Entry, str]], evidence: Evidence) -> Iterator[str]:
    """Yield every sentence once, after the numbers of the claims that the sentence is about.

    Args:
        lines: claims, each with a sentence.
        evidence: the evidence of the study.
    """
    groups: dict[str, list[Claim | Entry]] = {}
    for claim, line in lines:
        groups.setdefault(line, []).append(claim)
    for line, alike in groups.items():
        yield f"{subject_of(alike, evidence)}{line}"


def claim_caveats(
    evidence: Evidence, findings: list[Finding], claims: list[Entry], waiting: Sequence[Claim]
) -> Iterator[str]:
    """Yield the caveats on single claims as sentences.

    Args:
        evidence: the evidence of the study.
        findings: the statistical result of each claim.
        claims: each claim in the form of verdict.json.
        waiting: planned claims that lack the runs of an arm.
    """
    yield from _of_claims(evidence, findings, claims)
    yield from _of_noise(evidence, findings)
    yield from _of_intervals(evidence, claims, waiting)
    yield from _of_log(evidence, claims)


def _of_claims(evidence: Evidence, findings: list[Finding], claims: list[Entry]) -> Iterator[str]:
    for finding, entry in zip(findings, claims, strict=True):
        subject = subject_of([entry], evidence)
        if finding.paired and finding.paired.unpaired:
            unpaired = finding.paired.unpaired
            seed, verb = ("Seeds", "are") if len(unpaired) > 1 else ("Seed", "is")
            yield (
                f"{subject}{seed} {listed(unpaired)} {verb} left out, because a run of the pair, "
                "or the metric of a run, is missing."
            )
        failed = failures(finding.claim, entry)
        if failed and not entry.get("decided_by_failures") and entry["effect"] is not None:
            yield f"{subject}{failed}. The estimate leaves out their seeds in every arm."
        yield from (f"{subject}{turn}" for turn in _turns(finding, entry))
        if entry["method"].startswith("sign test"):
            yield (
                f"{subject}The differences of all {entry['pairs']} seeds are exactly equal, so the "
                "interval has no width. Only the number of seeds shows how certain the answer is."
            )
    yield from _of_age(evidence, claims)


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


def _of_age(evidence: Evidence, claims: list[Entry]) -> Iterator[str]:
    """Yield caveats on claims with runs that were made before the study was registered."""
    lines = []
    for entry in claims:
        if older := entry["older_cells"]:
            runs = f"{counted(older, 'run')} {'were' if older > 1 else 'was'}"
            then = ", so the answer is exploratory" if entry["exploratory"] else ""
            lines.append((entry, f"{runs} made before the study was registered{then}."))
    yield from merged(lines, evidence)


def _of_noise(evidence: Evidence, findings: list[Finding]) -> Iterator[str]:
    """Yield caveats on claims whose test errs more often in simulations than alpha allows.

    The reason is the distribution of the paired differences, such as a skewed one.
    """
    lines = [
        (
            finding.claim,
            f"In simulations with {NOISE[noise.reason].format(seeds=noise.seeds)}, up to "
            f"{100 * noise.rate:.1f} % of the answers were wrong, instead of the "
            f"{100 * noise.nominal:.1f} % that the test allows (docs/explanation/calibration.md).",
        )
        for finding in findings
        if (noise := seen_noise(finding))
    ]
    yield from merged(lines, evidence)


def _of_intervals(
    evidence: Evidence, claims: list[Entry], waiting: Sequence[Claim]
) -> Iterator[str]:
    tested = [entry for entry in claims if entry["p"]]
    family = len(tested) + sum(claim["kind"] != "exact" for claim in waiting)
    if tested and family > 1:
        yield (
            f"{OF_HOLM} for testing {family} claims at once (Holm). The intervals are not "
            "corrected."
        )
    if by_seeds := [e for e in tested if e["levels_of_noise"] == SEEDS and e["interval"]]:
        about = subject_of(by_seeds, evidence)
        texts = texts_of_task(evidence.registration.get("components", {}))
        yield (
            f"{about}The intervals include the variation between seeds, but not the variation "
            f"between test {texts}."
        )


def _of_log(evidence: Evidence, claims: list[Entry]) -> Iterator[str]:
    """Yield caveats from the history of each claim in the analysis log.

    The log has the interim analyses, earlier sweeps that asked the same question, and other
    settings (data, size, budget) in which the question was asked.
    """
    lines = [(entry, line) for entry in claims for line in _asked_before(entry, evidence)]
    yield from merged(lines, evidence)


def _asked_before(entry: Entry, evidence: Evidence) -> Iterator[str]:
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
