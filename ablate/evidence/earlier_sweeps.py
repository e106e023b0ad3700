"""Combine a sweep with earlier sweeps that asked the same questions, that is, compared the same
arms in the same metric.

Seeds of earlier sweeps with the same settings are pooled with the seeds of this sweep, so a seed
cannot be left out afterwards. New seeds count as a further interim analysis, which spends alpha
(ablate.stats.spending). A claim is exploratory if its question was asked before with other settings
or under another rule, if earlier analyses spent all of alpha, or if runs that were started or
analysed are missing.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from ablate.config.smoke import SMOKE
from ablate.errors import UserError
from ablate.evidence.analysis_log import (
    PER_REPLICATE,
    Analysis,
    AnalysisLog,
    Seed,
    Sweep,
    seed_of,
    write,
)
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.looks import arms_of, lacks_runs
from ablate.evidence.outcome import involves_chance
from ablate.evidence.questions import (
    UNUSUAL,
    Change,
    Rule,
    concerns,
    differences,
    family,
    place,
    question,
    rule,
)
from ablate.evidence.tuned import with_tried_values
from ablate.evidence.types import Asked, Claim, Levels, Reason, Run, Study, Values, reason
from ablate.phrases import name_of
from ablate.record.label import key, run_key

Parts = list[tuple[int, Evidence]]  # evidence with its replicate number
Reader = Callable[[Sweep], Evidence | None]  # returns None if the evidence cannot be read


def looked(results: Path, sweep: Path, evidence: Evidence) -> Evidence:
    """Return the evidence of a sweep, pooled with earlier sweeps that compared the same arms in the
    same metric, with the history of its questions; add this analysis to the analysis log.

    A sweep with some of the study's seeds or variants is a part of the study, unless the pooled
    runs have all of them. A part has no verdict, but its results are seen, so they are logged.

    Args:
        results: folder of all results, with the analysis log.
        sweep: folder of the sweep. A copy of the log lines about its questions is written there.
        evidence: evidence of the sweep alone.
    """
    log = AnalysisLog.read(results)
    current = log.of(os.path.relpath(sweep, results))
    earlier = EarlierSweeps.of(log, current, evidence.study, lambda sweep: _read(sweep, results))
    annotated = earlier.joined(evidence)
    write(results, earlier.look(annotated))
    AnalysisLog.read(results).about(current).save(sweep)
    if earlier.is_part(annotated):
        annotated.registration["part"] = True
    return annotated


@dataclass(frozen=True)
class EarlierSweeps:
    """The earlier sweeps that asked a question of the current sweep, that is, compared the same
    arms in the same metric.

    The sweeps are found in the analysis log, which lists all sweeps and all analyses of their runs.
    """

    log: AnalysisLog
    current: Sweep
    study: Study
    parts: Parts  # evidence of earlier sweeps with the same settings
    lost: set[Seed]  # planned seeds without a run, of sweeps that have not ended or are lost

    @classmethod
    def of(cls, log: AnalysisLog, current: Sweep, study: Study, read: Reader) -> "EarlierSweeps":
        """Read the evidence (the runs and their metrics) of the earlier sweeps that differ from the
        sweep `current` only in their seeds.

        Args:
            log: the analysis log, which lists all sweeps.
            current: the current sweep.
            study: the study of the current sweep.
            read: function that returns the evidence of a sweep, or None if the evidence cannot be
                read.
        """
        earlier = cls(log, current, study, [], set())
        alike = {s.folder: s for claim in earlier.claims for s in earlier.alike(claim)}
        for sweep in alike.values():
            evidence = read(sweep)
            begun = set(sweep.planned)
            if evidence is not None:
                earlier.parts.append((sweep.replicate, evidence))
                begun -= {seed_of(run, sweep.replicate) for run in evidence.runs}
            # if a sweep has ended, it left out planned seeds only after an interim analysis
            if evidence is None or not evidence.has_ended:
                earlier.lost.update(begun)
        return earlier

    @property
    def claims(self) -> list[Claim]:
        """The claims of the study whose results depend on the seeds."""
        return [claim for claim in self.study["claims"] if involves_chance(claim)]

    def joined(self, evidence: Evidence) -> Evidence:
        """Return the evidence (runs and their metrics) pooled with the runs of earlier sweeps, with
        the history of each claim added to the registration.
        """
        return self.with_history(pooled(evidence, self.current.replicate, self.parts))

    def is_part(self, evidence: Evidence) -> bool:
        """Return whether the current sweep leaves out seeds or arms of the study that no earlier
        sweep has either; an arm that stopped at an interim analysis is not left out.
        """
        arms = [arm for claim in self.study["claims"] for arm in arms_of(claim)]
        levels = [run["levels"].items() for run in evidence.runs]
        left_out = any(not any(x >= arm.items() for x in levels) for arm in arms)
        few = len(self.current.seeds) < self.study["seeds"]
        return (few or left_out) and lacks_runs(evidence.runs, self.study)

    def with_history(self, evidence: Evidence) -> Evidence:
        """Return the evidence, with the history of each claim from the log added to the
        registration.

        The history includes the earlier analyses, which spend alpha.

        Args:
            evidence: the evidence to analyse.
        """
        several = any("replicate" in run for run in evidence.runs)
        seeds = {*self.look(evidence).seeds}
        asked = {name_of(claim): self.asked(claim, seeds, several) for claim in self.claims}
        looks = max((len(history["looks"]) for history in asked.values()), default=0)
        return replace(
            evidence, registration={**evidence.registration, "looks": looks, "asked": asked}
        )

    def look(self, evidence: Evidence) -> Analysis:
        """Return the line of the analysis log that records an analysis of the evidence now.

        The line has the time, the seeds whose runs all have a result, and the seeds with a failed
        run.
        """
        seeds = [seed_of(run, self.current.replicate) for run in evidence.runs]
        ends = zip(evidence.runs, seeds, strict=True)
        failed = {seed for run, seed in ends if run["status"] == "failed"}
        return Analysis(self.current.folder, time.time(), sorted({*seeds} - failed), sorted(failed))

    def alike(self, claim: Claim) -> list[Sweep]:
        """Return earlier sweeps that tested a claim and differ from the current sweep only in their
        seeds.

        A replication (`contest`) gets an empty list, because it is judged by its new seeds alone.
        """
        if self.current.contest:
            return []
        return [sweep for sweep in self.before(claim) if not self._changed(sweep, claim)]

    def before(self, claim: Claim) -> list[Sweep]:
        """Return the sweeps that tested a claim before the current sweep first tested it, in the
        same setting (data, model size, budget, device), except sweeps in the same folder.

        A sweep tests the same claim if it compares the same arms in the same metric, even if the
        decision rule or other settings are different.
        """
        sweeps = self.log.before(self.current, question(claim), rule(claim, self.study))
        return [sweep for sweep in sweeps if sweep.folder != self.current.folder]

    def asked(self, claim: Claim, seeds: set[Seed], several: bool) -> Asked:
        """Return the history of a claim, as it is stored in a registration.

        The history has the seeds of each earlier analysis (`looks`), the reasons why the claim is
        exploratory (`tried`), and the number of other settings in which the question was asked
        (`regimes`).

        Args:
            claim: the claim.
            seeds: (replicate, seed) pairs that are analysed now.
            several: whether the runs come from several replicates (numbered sets of seeds), so that
                seeds are renumbered.
        """
        again = [s for s in self.log.asking(question(claim), self.current) if s.same(self.current)]
        looks = [seen for seen in self.log.seen([*self.alike(claim), *again]) if seen != seeds]
        otherwise = [*self._otherwise(claim), *self._in_family(claim)]
        missing = spent(self.study["seeds"], looks, seeds, self.lost)
        return {
            "looks": [sorted(_number(seed, several) for seed in seen) for seen in looks],
            "tried": [*otherwise, *missing],
            "regimes": self._regimes(question(claim)),
        }

    def _changed(self, sweep: Sweep, claim: Claim) -> list[Change]:
        """Return the changes of settings between an earlier sweep and the current sweep that
        concern a claim.
        """
        return sweep.changes(
            self.current, [level for level in sweep.levels if concerns(claim, level)]
        )

    def _otherwise(self, claim: Claim) -> list[Reason]:
        """Return the earlier sweeps that tested a claim with other settings or by another decision
        rule.
        """
        current_rule, asked = rule(claim, self.study), question(claim)
        if self.current.contest:
            return [reason("earlier_replication", **_names(s)) for s in self.before(claim)]
        reasons = []
        for sweep in self.before(claim):
            changed = self._changed(sweep, claim)
            if current_rule not in sweep.questions[asked]:
                changed += differences(UNUSUAL | sweep.questions[asked][0], UNUSUAL | current_rule)
            if changed:
                reasons.append(
                    reason("earlier_sweep", **_names(sweep), changes=[[*c] for c in changed])
                )
        return reasons

    def _in_family(self, claim: Claim) -> list[Reason]:
        """Return the earlier sweeps that compared the two levels of a claim under the same
        settings, but in another metric or in another study file.
        """
        begun = min(sweep.time for sweep in self.log.sweeps if sweep.same(self.current))
        reasons = []
        for sweep in self.log.asking(family(claim), self.current):
            if sweep.time >= begun or question(claim) in sweep.questions:
                continue
            places = sweep.questions[family(claim)]
            same = [before for before in places if self._same(sweep, before, place(claim))]
            if same:
                metrics = [*dict.fromkeys(before["metric"] for before in same)]
                reasons.append(reason("same_contrast", **_names(sweep), metrics=metrics))
        return reasons

    def _same(self, sweep: Sweep, earlier: Rule, now: Rule) -> bool:
        """Return whether two contrasts were measured under the same settings, including defaults.

        Args:
            sweep: the earlier sweep.
            earlier: metric and shared levels of the contrast in the earlier sweep.
            now: metric and shared levels of the contrast in the current sweep.
        """
        before = sweep.sets(cast(Levels, earlier["where"]))
        after = self.current.sets(cast(Levels, now["where"]))
        return all(
            {**sweep.settings, **before}.get(key) == {**self.current.settings, **after}.get(key)
            for key in before | after
        )

    def _regimes(self, asked: str) -> int:
        """Return in how many settings (data, model size, budget, device) a question was asked,
        without the setting of the current sweep, and without smoke tests.

        Args:
            asked: the key of the question, which the function `question` computes.
        """
        regimes = (s.regime for s in self.log.sweeps if asked in s.questions)
        elsewhere = [x for x in regimes if x.get("scale") != SMOKE and x != self.current.regime]
        return len({json.dumps(regime, sort_keys=True) for regime in elsewhere})


def spent(planned: int, looks: list[set[Seed]], seeds: set[Seed], begun: set[Seed]) -> list[Reason]:
    """Return the reasons why a verdict from some seeds is exploratory: an earlier analysis spent
    all of alpha, or seeds are missing.

    Args:
        planned: number of seeds of the study.
        looks: the seeds of each earlier analysis.
        seeds: the seeds that are judged now.
        begun: further seeds that were started and must be included.
    """
    reasons = []
    if any(len(seen) >= planned and seeds - seen for seen in looks):
        reasons.append(reason("alpha_spent", planned=planned))
    if gone := begun.union(*looks) - seeds:
        reasons.append(reason("seeds_left_out", seeds=len(gone)))
    return reasons


def pooled(evidence: Evidence, replicate: int, parts: Parts) -> Evidence:
    """Return the current evidence, with added runs of the same arms from other evidence.

    Each arm has one run per seed: a run of the other evidence is added if the current evidence has
    no such run, or a failed run. A replicate is a numbered set of seeds. If there are several
    replicates, seeds are renumbered so that they stay distinct.

    Args:
        evidence: evidence of the current sweep.
        replicate: replicate number of the current sweep.
        parts: the other evidence, each with its replicate number.
    """
    other_runs = [(number, run) for number, part in parts for run in with_tried_values(part)]
    several = any(seed_of(run, number)[0] != replicate for number, run in other_runs)
    labels = {key(run["levels"]): run["arm"] for run in evidence.runs}
    current_runs = with_tried_values(evidence) if parts else evidence.runs
    numbered = [_numbered(run, replicate, several) for run in current_runs]
    by_cell = {_cell(run): run for run in numbered}
    for replicate_of_run, run in other_runs:
        candidate = _numbered(run, replicate_of_run, several)
        free = 1 + max(run["cell"] for run in by_cell.values())
        existing = by_cell.get(_cell(candidate))
        arm = labels.get(key(candidate["levels"]))
        if arm is not None and (existing is None or existing["status"] == "failed"):
            number = existing["cell"] if existing else free
            by_cell[_cell(candidate)] = {**candidate, "cell": number, "arm": arm, "reused": True}
    every = [*(part.statistics for _, part in parts), evidence.statistics]
    statistics = {identity: rows for rows_of in every for identity, rows in rows_of.items()}
    return replace(evidence, runs=[*by_cell.values()], statistics=statistics)


def _cell(run: Run) -> str:
    return run_key(run["levels"], run["seed"])


def _numbered(run: Run, replicate: int, several: bool) -> Run:
    seed = seed_of(run, replicate)
    if not several:
        return run
    return {**run, "seed": _number(seed, several), "replicate": seed[0]}


def _number(seed: Seed, several: bool) -> int:
    return seed[1] + PER_REPLICATE * seed[0] * several


def _read(sweep: Sweep, results: Path) -> Evidence | None:
    """Return the evidence (runs and metrics) of an earlier sweep; None if its files cannot be read
    any more, or if they are outside the results folder.
    """
    folder = results / sweep.folder
    try:
        return gather(folder) if folder.resolve().is_relative_to(results.resolve()) else None
    except (UserError, OSError):
        return None


def _names(sweep: Sweep) -> Values:
    """Return the name, the day and the number of seeds of a sweep."""
    day = f"{datetime.fromtimestamp(sweep.time, UTC):%Y-%m-%d}"
    return {"sweep": sweep.name, "day": day, "seeds": len(sweep.seeds)}
