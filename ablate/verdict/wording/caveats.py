"""Write the caveats of a study as sentences.

A caveat about some of the claims begins with the numbers of these claims: "Claims 1 and 3: ...".
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any

from ablate.config.labels import arm_label, factor_label, texts_of_task
from ablate.evidence.folder import Evidence
from ablate.evidence.looks import planned_looks
from ablate.evidence.outcome import NOT_LEARNED, value
from ablate.evidence.table import by_label, steps_of
from ablate.evidence.tuned import ordered, tried
from ablate.evidence.types import Claim, Entry, Run
from ablate.metric.table import metric_in_words
from ablate.phrases import claims_numbered, grouped, listed, name_of, number_of, quoted
from ablate.stats.estimate import SEEDS
from ablate.stats.false_rates import CLUSTERED, FEW, HIDDEN, SKEWED
from ablate.verdict import match
from ablate.verdict.interim import asked_of
from ablate.verdict.kind.base import Finding
from ablate.verdict.seen_noise import SeenNoise, seen_noise
from ablate.verdict.sides import sides
from ablate.verdict.stages import FUTILE, needed
from ablate.verdict.wording.details import direction
from ablate.verdict.wording.effects import failures

ALIKE = 0.01  # largest relative difference in parameters of arms that count as matched
ENDS: dict[str, Callable[[list[Any]], Any]] = {"largest": max, "smallest": min}
OF_HOLM = "The answers are corrected"
NOISE = {  # the simulations in which the rate of wrong answers was measured, in words
    FEW: "{seeds} seeds and skewed differences",
    SKEWED: "{seeds} seeds and differences as skewed as those measured",
    CLUSTERED: "{seeds} seeds and differences that form two clusters, as here",
    HIDDEN: "{seeds} seeds and rare extreme runs",
}
OF_TIMES = "While times were measured"
SUBJECT = re.compile(r"Claims? ([\d, and]+): ")
IDLE = 0.2  # number of cores that other processes may use during a time measurement


def caveats(
    evidence: Evidence, findings: list[Finding], claims: list[Entry], waiting: Sequence[Claim]
) -> list[str]:
    """Return all caveats of a study as sentences; caveats about the whole study come first.

    Args:
        evidence: the evidence of the study.
        findings: the statistical result of each claim.
        claims: each claim in the form of verdict.json.
        waiting: planned claims that lack the runs of an arm.
    """
    return [
        *_of_study(evidence),
        *_of_waiting(claims, waiting),
        *_of_tuning(evidence),
        *match.describe(evidence),
        *_of_sizes(evidence, findings),
        *_of_machine(evidence),
        *_of_runs(evidence, waiting),
        *_of_claims(evidence, findings, claims),
        *_of_noise(evidence, findings),
        *_of_intervals(evidence, claims, waiting),
        *_of_log(evidence, claims),
    ]


def _of_study(evidence: Evidence) -> Iterator[str]:
    for fixed in evidence.study["fixed"]:
        yield f"{fixed[:1].upper()}{fixed[1:]}."
    if evidence.registration.get("earlier"):
        forms = len(evidence.registration["earlier"])
        yield (
            "The plan of the study (claims, arms, margins and seeds) was changed "
            f"{forms} time{'s' * (forms > 1)} before the present version."
        )


def _of_waiting(claims: list[Entry], waiting: Sequence[Claim]) -> Iterator[str]:
    if waiting:
        planned = len(claims) + len(waiting)
        have, each = ("has", "it") if len(waiting) == 1 else ("have", "each")
        yield (
            f"Of {planned} planned claims, {len(waiting)} {have} no answer yet: {each} compares an "
            "arm that has no runs."
        )


def _of_tuning(evidence: Evidence) -> Iterator[str]:
    """Yield a caveat if a tuned value is the largest or the smallest of the values that were
    tried.
    """
    tune = evidence.study.get("tune")
    if not tune or not ordered(tune["values"]):
        return
    grids = tried(evidence)
    at = {word: _at_end(evidence, grids, end) for word, end in ENDS.items()}
    extremes = [f"the {word} for {listed(arms)}" for word, arms in at.items() if arms]
    if extremes:
        wider = {value for grid in grids.values() for value in grid} - {*tune["values"]}
        values = sorted({*tune["values"], *wider}) if wider else tune["values"]
        name = factor_label(tune["key"])
        yield (
            f"The best {name} of those tried ({listed(values)}) is {'; it is '.join(extremes)}. "
            f"A better {name} may lie outside this range."
        )


def _at_end(
    evidence: Evidence, grids: dict[int, list[Any]], end: Callable[[list[Any]], Any]
) -> list[str]:
    """Return labels of the arms in which some runs chose the largest (or smallest) tried value.

    If only some runs of an arm did so, their number follows the label.

    Args:
        evidence: the evidence.
        grids: the values that each run tried, by cell number.
        end: `max` or `min`.
    """
    labels = []
    for arm, runs in by_label([run for run in evidence.runs if "tuned" in run]).items():
        took = sum(run["tuned"]["value"] == end(grids[run["cell"]]) for run in runs)
        if took:
            some = "" if took == len(runs) else f" ({took} of {len(runs)} runs)"
            labels.append(f"{quoted(arm)}{some}")
    return labels


def _of_sizes(evidence: Evidence, findings: list[Finding]) -> Iterator[str]:
    """Yield caveats on compared arms with different numbers of trained parameters."""
    names = {id(run): arm for arm, runs in by_label(evidence.runs).items() for run in runs}
    claims: dict[str, list[Claim]] = {}
    for claim in (finding.claim for finding in findings if not finding.problem):
        pairs = (sorted(pair, key=_size) for pair in _compared(claim, evidence))
        if apart := dict.fromkeys(line for pair in pairs if (line := _apart(pair, names))):
            claims.setdefault("; ".join(apart), []).append(claim)
    for sizes, alike in claims.items():
        yield f"{_subject(alike, evidence)}The arms differ in trained parameters: {sizes}."


def _apart(pair: Sequence[Run], names: dict[int, str]) -> str:
    small, large = pair
    more = _size(large) / _size(small) - 1 if _size(small) else 0.0
    if more <= ALIKE:
        return ""
    return (
        f"{_size(large):,} with {quoted(names[id(large)])} against {_size(small):,} with "
        f"{quoted(names[id(small)])} ({100 * more:.0f} % more)"
    )


def _compared(claim: Claim, evidence: Evidence) -> Iterator[tuple[Run, Run]]:
    """Yield pairs of runs that a claim compares; for a trend, runs at neighbouring levels."""
    arms = sides(claim, evidence)
    trend = claim["kind"] == "trend"
    pairs = zip(arms, arms[1:], strict=False) if trend else zip(arms[::2], arms[1::2], strict=True)
    for first, second in pairs:
        for seed in sorted(first.runs.keys() & second.runs.keys()):
            yield from zip(first.runs[seed], second.runs[seed], strict=False)


def _size(run: Run) -> int:
    return int(run["metrics"].get("parameters") or 0)


def _of_machine(evidence: Evidence) -> Iterator[str]:
    """Yield a caveat if other processes were running during time measurements."""
    busy_cores = (run["metrics"].get("probe/others") for run in evidence.runs)
    busy = max((cores for cores in busy_cores if cores is not None), default=0.0)
    if busy > IDLE:
        yield (
            f"{OF_TIMES}, other processes kept up to {busy:.1f} cores busy. On an idle machine the "
            "times would be shorter."
        )


def _of_runs(evidence: Evidence, waiting: Sequence[Claim]) -> Iterator[str]:
    failed = [run for run in evidence.runs if run["status"] == "failed"]
    if failed:
        cells = listed([run["cell"] for run in failed])
        many = len(failed) > 1
        verb = "are" if many else "is"
        yield (
            f"{_count(failed)} raised an error and {verb} left out of all numbers "
            f"(cell{'s' * many} {cells} of runs.jsonl)."
        )
    yield from _of_wrong_ends(evidence.runs)
    if evidence.short:
        runs, steps = evidence.short.runs, evidence.short.regime["steps"]
        after = f"After {grouped(steps_of(runs, 'budget.short', steps))} steps"
        yield from (f"{after}: {caveat}" for caveat in _of_wrong_ends(runs))
    yield from _of_plan(evidence, waiting)
    versions = {tuple(sorted(run["versions"].items())) for run in evidence.runs if run["versions"]}
    if len(versions) > 1:
        yield "The runs used different versions of some packages."


def _of_wrong_ends(runs: list[Run]) -> Iterator[str]:
    wrong = [run for run in runs if run["status"] in NOT_LEARNED]
    if wrong:
        arms = Counter(arm_label(run["levels"]) for run in wrong)
        counts = "; ".join(f"{count} with {quoted(arm)}" for arm, count in arms.items())
        yield (
            f"{_count(wrong)} diverged or collapsed ({counts}). Estimates use only the runs that "
            "learned the task. How often runs fail is a separate question, and so few runs answer "
            "it only roughly."
        )


def _of_plan(evidence: Evidence, waiting: Sequence[Claim]) -> Iterator[str]:
    """Yield a caveat on arms with fewer seeds than planned.

    The seeds may be missing, or an interim analysis may have made them unnecessary.
    """
    planned = evidence.study["seeds"]
    few = {
        arm: runs for arm, runs in by_label(evidence.runs).items() if len(_seeds(runs)) < planned
    }
    if not few or not evidence.study["claims"]:
        return
    staged = "asked" in evidence.registration and len(planned_looks(evidence.study)) > 1
    if staged and not _goes_on(few, evidence, waiting):
        ended_at: dict[int, list[str]] = {}
        for arm, runs in few.items():
            ended_at.setdefault(len(_seeds(runs)), []).append(arm)
        ends = [
            f"after {n} of {planned} seeds those with {listed([quoted(arm) for arm in x])}"
            for n, x in ended_at.items()
        ]
        yield (
            f"The planned interim analyses stopped some arms early: {', and '.join(ends)}. "
            "Each claim on these arms was decided by then, or its chance to be decided was below "
            f"{100 * FUTILE:.0f} %."
        )
        return
    ended = len(_seeds([run for run in evidence.runs if run["status"] != "failed"]))
    if ended < planned:
        yield f"Of {planned} planned seeds {ended} have finished."


def _goes_on(arms: dict[str, list[Run]], evidence: Evidence, waiting: Sequence[Claim]) -> bool:
    """Return whether an undecided claim, which needs more seeds, uses one of these arms."""
    going = needed(evidence, waiting)
    return any(runs[0]["levels"] in going for runs in arms.values())


def _seeds(runs: list[Run]) -> set[int]:
    return {run["seed"] for run in runs}


def _of_claims(evidence: Evidence, findings: list[Finding], claims: list[Entry]) -> Iterator[str]:
    for finding, entry in zip(findings, claims, strict=True):
        subject = _subject([entry], evidence)
        if finding.paired and finding.paired.unpaired:
            unpaired = finding.paired.unpaired
            many, seeds = len(unpaired) > 1, listed(unpaired)
            yield (
                f"{subject}Seed{'s' * many} {seeds} {'are' if many else 'is'} left out, because "
                "a run of the pair, or the metric of a run, is missing."
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
                f"{quoted(arm_label(first.levels))} to {quoted(arm_label(second.levels))} the mean "
                f"changes in the opposite direction: {metric.name} "
                f"{metric.say(after - before, sign=True)}."
            )


def _of_age(evidence: Evidence, claims: list[Entry]) -> Iterator[str]:
    """Yield caveats on claims with runs that were made before the study was registered."""
    groups: dict[str, list[Entry]] = {}
    for entry in claims:
        if older := entry["older_cells"]:
            runs = f"{older} run{'s' * (older > 1)} {'were' if older > 1 else 'was'}"
            then = ", so the answer is exploratory" if entry["exploratory"] else ""
            line = f"{runs} made before the study was registered{then}."
            groups.setdefault(line, []).append(entry)
    for line, alike in groups.items():
        yield f"{_subject(alike, evidence)}{line}"


def _of_noise(evidence: Evidence, findings: list[Finding]) -> Iterator[str]:
    """Yield caveats on claims whose test errs more often in simulations than alpha allows.

    The reason is the distribution of the paired differences, such as a skewed one.
    """
    claims: dict[SeenNoise, list[Claim]] = {}
    for finding in findings:
        if noise := seen_noise(finding):
            claims.setdefault(noise, []).append(finding.claim)
    for noise, alike in claims.items():
        yield (
            f"{_subject(alike, evidence)}In simulations with "
            f"{NOISE[noise.reason].format(seeds=noise.seeds)}, up to {100 * noise.rate:.1f} % of "
            f"the answers were wrong, instead of the {100 * noise.nominal:.1f} % that the test "
            "allows (docs/explanation/calibration.md)."
        )


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
        about = _subject(by_seeds, evidence)
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
    groups: dict[str, list[Entry]] = {}
    for entry in claims:
        for line in _asked_before(entry, evidence):
            groups.setdefault(line, []).append(entry)
    for line, alike in groups.items():
        yield f"{_subject(alike, evidence)}{line}"


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
        settings_in_words = _counted(settings, "other setting")
        yield (
            f"The same question was also asked in {settings_in_words} (another corpus, model size, "
            "number of steps or device)."
        )


def _counted(many: int, what: str) -> str:
    return f"{many} {what}{'s' * (many > 1)}"


def _count(runs: list[Run]) -> str:
    return f"{len(runs)} run{'s' * (len(runs) > 1)}"


def _subject(claims: Sequence[Claim | Entry], evidence: Evidence) -> str:
    """Return the start of a caveat: the numbers of its claims, such as "Claims 1 and 3: ".

    The result is "" if the caveat is about all claims.
    """
    numbers = number_of(evidence.study["claims"])
    chosen = sorted({numbers[name_of(claim)] for claim in claims})
    return "" if len(chosen) == len(numbers) else f"{claims_numbered(chosen)}: "


def about(claim: Entry, claims: list[Entry], caveats: list[str]) -> list[str]:
    """Return the caveats that apply to one claim, without the numbers of claims at their start.

    Args:
        claim: the claim.
        claims: all claims of the study.
        caveats: all caveats of the study.
    """
    number = str(number_of(claims)[name_of(claim)])
    return [
        SUBJECT.sub("", caveat, count=1) for caveat in caveats if _applies(caveat, claim, number)
    ]


def _applies(caveat: str, claim: Entry, number: str) -> bool:
    """Return whether a caveat is about this claim, or about all claims of the study."""
    if subject := SUBJECT.match(caveat):
        return number in re.findall(r"\d+", subject[1])
    if caveat.startswith(OF_HOLM):
        return bool(claim["p"])
    return "second" in claim["metric"] if caveat.startswith(OF_TIMES) else True
