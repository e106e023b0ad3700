"""What a reader must know beside the verdicts, as sentences."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.looks import planned_looks
from ablate.evidence.outcome import WENT_WRONG
from ablate.evidence.table import by_arm
from ablate.evidence.tuned import ordered, tried
from ablate.evidence.types import Claim, Entry, Run
from ablate.metric.table import metric_of
from ablate.phrases import listed, name_of
from ablate.stats.estimate import SEEDS
from ablate.stats.false_rates import FEW, HIDDEN
from ablate.verdict import match
from ablate.verdict.interim import asked_of
from ablate.verdict.kind.base import Finding
from ablate.verdict.seen_noise import SeenNoise, seen_noise
from ablate.verdict.sides import sides
from ablate.verdict.stages import FUTILE, needed

ALIKE = 0.01  # arms are matched in parameters when these differ by this share or less
ENDS: dict[str, Callable[[list[Any]], Any]] = {"largest": max, "smallest": min}
OF_HOLM, OF_INTERVALS = "Verdicts follow p-values", "Intervals of"
WHERE = {FEW: "where noise is skewed", HIDDEN: f"where noise has {HIDDEN}"}
OF_TIMES, OF_SIZES = "While times were taken", "arms that are compared differ"
IDLE = 0.2  # cores that other processes may use while something is timed


def caveats(evidence: Evidence, findings: list[Finding], claims: list[Entry]) -> list[str]:
    """All caveats, those of the study first."""
    return [
        *_of_study(evidence),
        *_of_tuning(evidence),
        *match.told(evidence),
        *_of_sizes(evidence, findings),
        *_of_machine(evidence),
        *_of_runs(evidence),
        *_of_claims(findings, claims),
        *_of_noise(findings),
        *_of_intervals(claims),
        *_of_book(evidence, claims),
    ]


def _of_study(evidence: Evidence) -> Iterator[str]:
    for fixed in evidence.study["fixed"]:
        yield f"Held fixed: {fixed}."
    if evidence.registration.get("earlier"):
        forms = len(evidence.registration["earlier"])
        yield f"The study had {forms} other form{'s' * (forms > 1)} before this one."


def _of_tuning(evidence: Evidence) -> Iterator[str]:
    """Arms whose tuned value is the largest or the smallest of those tried."""
    tune = evidence.study.get("tune")
    if not tune or not ordered(tune["values"]):
        return
    grids = tried(evidence)
    at = {word: _at_end(evidence, grids, end) for word, end in ENDS.items()}
    said = [f"the {word} for {listed(arms)}" for word, arms in at.items() if arms]
    if said:
        wider = {value for grid in grids.values() for value in grid} - {*tune["values"]}
        values = sorted({*tune["values"], *wider}) if wider else tune["values"]
        yield (
            f"The best {tune['key']} of {listed(values)} is {listed(said)}; "
            "a better one may lie beyond."
        )


def _at_end(
    evidence: Evidence, grids: dict[int, list[Any]], end: Callable[[list[Any]], Any]
) -> list[str]:
    """Arms of which some runs took the last value that was tried for them."""
    found = []
    for arm, runs in by_arm([run for run in evidence.runs if "tuned" in run]).items():
        took = sum(run["tuned"]["value"] == end(grids[run["cell"]]) for run in runs)
        if took:
            found.append(arm if took == len(runs) else f"{arm} ({took} of {len(runs)} runs)")
    return found


def _of_sizes(evidence: Evidence, findings: list[Finding]) -> Iterator[str]:
    """Arms that a claim compares although their numbers of trained parameters are apart."""
    claims: dict[str, list[str]] = {}
    for claim in (finding.claim for finding in findings if not finding.problem):
        pairs = (sorted(pair, key=_size) for pair in _compared(claim, evidence))
        if apart := dict.fromkeys(said for pair in pairs if (said := _apart(*pair))):
            claims.setdefault("; ".join(apart), []).append(name_of(claim))
    for apart_in, names in claims.items():
        yield f"{_subject(names)}: {OF_SIZES} in trained parameters: {apart_in}."


def _apart(small: Run, large: Run) -> str:
    more = _size(large) / _size(small) - 1 if _size(small) else 0.0
    if more <= ALIKE:
        return ""
    return (
        f"{large['arm']} has {_size(large):,} and {small['arm']} {_size(small):,} ({more:.0%} more)"
    )


def _compared(claim: Claim, evidence: Evidence) -> Iterator[tuple[Run, Run]]:
    """Runs of one seed that a claim sets against each other; a trend: those of two next levels."""
    arms = sides(claim, evidence)
    trend = claim["kind"] == "trend"
    pairs = zip(arms, arms[1:], strict=False) if trend else zip(arms[::2], arms[1::2], strict=True)
    for first, second in pairs:
        for seed in sorted(first.runs.keys() & second.runs.keys()):
            yield from zip(first.runs[seed], second.runs[seed], strict=False)


def _size(run: Run) -> int:
    return int(run["metrics"].get("parameters") or 0)


def _of_machine(evidence: Evidence) -> Iterator[str]:
    """Whether what was timed had the machine to itself."""
    others = (run["metrics"].get("probe/others") for run in evidence.runs)
    busy = max((cores for cores in others if cores is not None), default=0.0)
    if busy > IDLE:
        yield (
            f"{OF_TIMES}, other processes kept up to {busy:.1f} cores busy: they are "
            "not those of an idle machine."
        )


def _of_runs(evidence: Evidence) -> Iterator[str]:
    failed = [run for run in evidence.runs if run["status"] == "failed"]
    if failed:
        cells = listed([run["cell"] for run in failed])
        many = len(failed) > 1
        verb, cell = ("are", "cells") if many else ("is", "cell")
        yield f"{_count(failed)} failed and {verb} no part of any number: {cell} {cells}."
    yield from _of_wrong_ends(evidence.runs)
    if evidence.short:
        steps = evidence.short.regime["steps"]
        yield from (f"At {steps:,} updates: {x}" for x in _of_wrong_ends(evidence.short.runs))
    yield from _of_plan(evidence)
    versions = {tuple(sorted(run["versions"].items())) for run in evidence.runs if run["versions"]}
    if len(versions) > 1:
        yield "Not all runs executed the same versions of everything."


def _of_wrong_ends(runs: list[Run]) -> Iterator[str]:
    wrong = [run for run in runs if run["status"] in WENT_WRONG]
    if wrong:
        arms = listed(list(dict.fromkeys(run["arm"] for run in wrong)))
        yield (
            f"{_count(wrong)} diverged or collapsed ({arms}). Means are those of runs that "
            "learned; how often runs fail is a rate of its own, known only as well as the number "
            "of runs allows."
        )


def _of_plan(evidence: Evidence) -> Iterator[str]:
    """Seeds that are missing, or that a planned look has shown not to be needed."""
    planned = evidence.study["seeds"]
    few = {arm: runs for arm, runs in by_arm(evidence.runs).items() if len(_seeds(runs)) < planned}
    if not few or not evidence.study["claims"]:
        return
    staged = "asked" in evidence.registration and len(planned_looks(evidence.study)) > 1
    if staged and not _goes_on(few, evidence):
        arms = [f"{arm} after {len(_seeds(runs))}" for arm, runs in few.items()]
        yield (
            f"Planned looks saved {sum(planned - len(_seeds(runs)) for runs in few.values())} "
            f"runs: of {planned} seeds {listed(arms)}; each claim on these arms was decided, or "
            f"had less than {FUTILE:.0%} chance to be."
        )
        return
    ended = len(_seeds([run for run in evidence.runs if run["status"] != "failed"]))
    if ended < planned:
        yield f"{planned} seeds were planned, {ended} have ended."


def _goes_on(arms: dict[str, list[Run]], evidence: Evidence) -> bool:
    """Whether a claim that is not over uses one of these arms."""
    going = needed(evidence)
    return any(runs[0]["levels"] in going for runs in arms.values())


def _seeds(runs: list[Run]) -> set[int]:
    return {run["seed"] for run in runs}


def _of_claims(findings: list[Finding], claims: list[Entry]) -> Iterator[str]:
    for finding, entry in zip(findings, claims, strict=True):
        if finding.paired and finding.paired.unpaired:
            seeds = listed(finding.paired.unpaired)
            yield (
                f"{entry['id']}: seed{'s' * (len(finding.paired.unpaired) > 1)} {seeds} of an arm "
                "without a partner, or without the metric, do not enter."
            )
        if entry["method"].startswith("sign test"):
            yield (
                f"{entry['id']}: the differences of all {entry['pairs']} seeds are exactly equal, "
                "so that their number alone is evidence; the interval has no width."
            )
        if entry["older_cells"]:
            yield (
                f"{entry['id']}: {entry['older_cells']} runs are older than the study"
                f"{', which makes its verdict exploratory' if entry['exploratory'] else ''}."
            )


def _of_noise(findings: list[Finding]) -> Iterator[str]:
    """Claims whose noise makes more false verdicts than the level says, with the measured share."""
    claims: dict[SeenNoise, list[str]] = {}
    for finding in findings:
        if noise := seen_noise(finding):
            claims.setdefault(noise, []).append(name_of(finding.claim))
    for noise, names in claims.items():
        where = WHERE.get(noise.reason, f"with {noise.reason} as here")
        yield (
            f"{_subject(names)}: with {noise.seeds} seeds, up to "
            f"{noise.rate:.1%} of such verdicts are false {where}, instead of {noise.nominal:.1%} "
            "(measured, docs/calibration.md)."
        )


def _of_intervals(claims: list[Entry]) -> Iterator[str]:
    tested = [entry for entry in claims if entry["p"]]
    if len(tested) > 1:
        yield (
            f"{OF_HOLM} that are adjusted for {len(tested)} claims (Holm); "
            "intervals are not adjusted."
        )
    metrics = [e["metric"] for e in tested if e["levels_of_noise"] == SEEDS and e["interval"]]
    if metrics:
        said = listed([metric_of(metric).name for metric in dict.fromkeys(metrics)])
        yield f"{OF_INTERVALS} {said} cover other seeds, but no other test sentences."


def _of_book(evidence: Evidence, claims: list[Entry]) -> Iterator[str]:
    """Earlier looks, earlier tries, and other regimes of each question."""
    for entry in claims:
        asked, name = asked_of(entry, evidence), name_of(entry)
        for other in asked["tried"]:
            yield f"{name}: exploratory, since its question was asked before: {other}."
        if shares := entry.get("information"):
            yield (
                f"{name}: this is look {len(shares)}, at {shares[-1]:.0%} of the planned seeds; "
                "alpha is spent as O'Brien and Fleming do, and intervals are repeated ones."
            )
        if regimes := asked["regimes"]:
            yield f"{name}: its question was also asked in {_counted(regimes, 'other regime')}."


def _counted(many: int, what: str) -> str:
    return f"{many} {what}{'s' * (many > 1)}"


def _count(runs: list[Run]) -> str:
    return f"{len(runs)} run{'s' * (len(runs) > 1)}"


def _subject(names: list[str]) -> str:
    return listed([*dict.fromkeys(names)])


def about(claim: Entry, claims: list[Entry], caveats: list[str]) -> list[str]:
    """Return the caveats of a study that apply to one of its claims."""
    names = {label for one in claims for label in (one["id"], name_of(one))}
    return [caveat for caveat in caveats if _applies(caveat, claim, names)]


def _applies(caveat: str, claim: Entry, names: set[str]) -> bool:
    """Whether a caveat is about this claim, or about all claims of the study."""
    subjects = _subjects(caveat, names)
    if subjects:
        return not subjects.isdisjoint((claim["id"], name_of(claim)))
    if caveat.startswith(OF_HOLM):
        return bool(claim["p"])
    if caveat.startswith(OF_INTERVALS):
        return bool(claim["interval"]) and metric_of(claim["metric"]).name in caveat
    return "second" in claim["metric"] if caveat.startswith(OF_TIMES) else True


def _subjects(caveat: str, names: set[str]) -> set[str]:
    """Return the claims that a caveat begins with, one or several of them listed."""
    left, subjects = caveat, set()
    while begun := [name for name in names if re.match(rf"{re.escape(name)}(:|,| and )", left)]:
        longest = max(begun, key=len)
        subjects.add(longest)
        if left[len(longest)] == ":":
            return subjects
        left = re.sub(r"^(,| and) ?", "", left[len(longest) :])
    return set()
