"""Judge a sweep together with earlier sweeps that asked the same questions.

Seeds of earlier sweeps with the same settings are pooled, so a seed cannot be left out afterwards.
New seeds count as a further analysis, which spends alpha (ablate.stats.spending). A claim is
exploratory if its question was asked before with other settings or under another rule, if earlier
analyses spent all of alpha, or if runs that were started or analysed are missing.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ablate.config.smoke import SMOKE
from ablate.errors import UserError
from ablate.evidence.digest import check_manifest
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.log import (
    ANALYSIS_LOG,
    PER_REPLICATE,
    Analysis,
    AnalysisLog,
    Seed,
    Sweep,
    seed_of,
    write,
)
from ablate.evidence.looks import arms_of, lacks_runs
from ablate.evidence.outcome import involves_chance
from ablate.evidence.registration import (
    Change,
    Rule,
    concerns,
    contrasts,
    differences,
    former_question,
    rule,
    settings,
)
from ablate.evidence.tuned import with_tried_values
from ablate.evidence.types import Asked, Claim, Reason, Run, Study, Values, reason
from ablate.phrases import listed, name_of
from ablate.record.label import key, run_key


def check_kept(folder: Path, evidence: Evidence) -> None:
    """Check that no evidence was removed: the runs are those of the manifest, and include all seeds
    that were analysed according to the log, which lies beside the evidence or in the results.

    Raises:
        UserError: the manifest or the log is damaged, or names runs that are missing.
    """
    folder, sweep = folder.resolve(), evidence.registration.get("sweep")
    check_manifest(folder, evidence, folder / ANALYSIS_LOG)
    results = Path(str(folder).removesuffix(sweep)) if sweep else folder
    log = AnalysisLog.read(folder if (folder / ANALYSIS_LOG).exists() else results)
    number = next((line.replicate for line in log.sweeps if line.folder == sweep), 0)
    runs = {seed_of(run, number) for run in evidence.runs}
    seen = {x for look in log.looks if look.folder == sweep for x in (*look.seeds, *look.failed)}
    if gone := seen - runs:
        seeds = listed([seed for _, seed in sorted(gone)])
        raise UserError(
            f"{folder}: {ANALYSIS_LOG} records an analysis of seed{'s' * (len(gone) > 1)} {seeds}, "
            "but runs.jsonl has no such runs: restore runs.jsonl, or run the sweep again"
        )


def looked(results: Path, sweep: Path, evidence: Evidence) -> Evidence:
    """Return the evidence of a sweep, pooled with earlier sweeps of its questions, with the history
    of each claim; add this analysis to the log, and copy the log into the folder of the sweep.

    A sweep with some of the study's seeds or variants is a part of the study, unless the pooled
    runs have all of them. A part has no verdict, but its results are seen, so they are logged.
    """

    def read(other: Sweep) -> Evidence | None:
        folder = results / other.folder
        with suppress(UserError, OSError):
            return gather(folder) if folder.resolve().is_relative_to(results.resolve()) else None
        return None

    log = AnalysisLog.read(results)
    current = log.of(os.path.relpath(sweep, results))
    history = History.of(log, current, evidence.study, read)
    joined = history.joined(evidence)
    write(results, history.look(joined))
    AnalysisLog.read(results).about(current).save(sweep)
    if history.is_part(joined):
        joined.registration["part"] = True
    return joined


@dataclass(frozen=True)
class History:
    """The earlier sweeps that asked a question of the current sweep, from the log."""

    log: AnalysisLog
    current: Sweep
    study: Study
    parts: list[tuple[int, Evidence]]  # replicate and evidence of sweeps with the same settings
    lost: set[Seed]  # planned seeds without a run, of sweeps that have not ended or are lost

    @classmethod
    def of(
        cls, log: AnalysisLog, now: Sweep, study: Study, read: Callable[[Sweep], Evidence | None]
    ) -> "History":
        """Read the evidence of the sweeps that differ from the sweep `now` only in their seeds.

        Args:
            log: the analysis log.
            now: the current sweep.
            study: its study.
            read: returns the evidence of a sweep, or None if it cannot be read.
        """
        history = cls(log, now, study, [], set())
        alike = {s.folder: s for claim in history.claims for s in history.alike(claim)}
        for sweep in alike.values():
            evidence, begun = read(sweep), sweep.planned
            if evidence is not None:
                history.parts.append((sweep.replicate, evidence))
                begun = begun - {seed_of(run, sweep.replicate) for run in evidence.runs}
            # if a sweep has ended, it left out planned seeds only after an interim analysis
            if evidence is None or not evidence.has_ended:
                history.lost.update(begun)
        return history

    @property
    def claims(self) -> list[Claim]:
        """The claims of the study whose results depend on the seeds."""
        return [claim for claim in self.study["claims"] if involves_chance(claim)]

    def joined(self, evidence: Evidence) -> Evidence:
        """Return the evidence pooled with the runs of earlier sweeps, with its history."""
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
        """Return the evidence with the history of each claim in its registration."""
        several = any("replicate" in run for run in evidence.runs)
        seeds = {*self.look(evidence).seeds}
        asked = {name_of(claim): self.asked(claim, seeds, several) for claim in self.claims}
        looks = max((len(history["looks"]) for history in asked.values()), default=0)
        more: Any = {"looks": looks, "asked": asked}
        return replace(evidence, registration={**evidence.registration, **more})

    def look(self, evidence: Evidence) -> Analysis:
        """Return the line of the log that records an analysis of the evidence now."""
        ends = [(seed_of(run, self.current.replicate), run["status"]) for run in evidence.runs]
        failed = {seed for seed, status in ends if status == "failed"}
        seeds = sorted({seed for seed, _ in ends} - failed)
        return Analysis(self.current.folder, time.time(), seeds, sorted(failed))

    def alike(self, claim: Claim) -> list[Sweep]:
        """Return earlier sweeps that tested a claim and differ only in their seeds; [] for a
        replication, which is judged by its new seeds alone.
        """
        if self.current.contest:
            return []
        return [sweep for sweep, changes in self.before(claim) if not changes]

    def before(self, claim: Claim) -> Iterator[tuple[Sweep, list[Change]]]:
        """Yield the sweeps in other folders that asked the question of a claim before the current
        sweep, or one with the same study and seeds, with everything that was different.
        """
        begun = min(sweep.time for sweep in self.log.sweeps if self._repeats(sweep))
        now, former = rule(claim, self.study), former_question(claim)
        keys = contrasts(claim, self.current.levels)
        for sweep in self.log.asking([*keys, former], self.current):
            places = (x for key in keys for x in sweep.questions.get(key, []))
            rules = sweep.questions.get(former) or [
                x for x in places if self._is_under(sweep, x, now)
            ]
            if rules and sweep.time < begun and sweep.folder != self.current.folder:
                of_rules = ([x for x in differences(y, now) if x[0] != "where"] for y in rules)
                levels = [level for level in sweep.levels if concerns(claim, level)]
                yield sweep, sweep.changes(self.current, levels) + min(of_rules, key=len)

    def _repeats(self, sweep: Sweep) -> bool:
        """Return whether a sweep has the study, settings and planned seeds of the current sweep."""
        same = (sweep.study, sweep.planned) == (self.current.study, self.current.planned)
        return same and not sweep.changes(self.current, sweep.levels)

    def asked(self, claim: Claim, seeds: set[Seed], several: bool) -> Asked:
        """Return the history of a claim: the seeds of each earlier analysis, the reasons why the
        claim is exploratory, and the number of other settings in which it was asked.

        Args:
            claim: the claim.
            seeds: (replicate, seed) pairs that are analysed now.
            several: whether runs come from several replicates, so that seeds are renumbered.
        """
        again = [sweep for sweep in self.log.sweeps if self._repeats(sweep)]
        looks = [seen for seen in self.log.seen([*self.alike(claim), *again]) if seen != seeds]
        tried: list[Reason] = []
        for sweep, changes in self.before(claim):
            if self.current.contest:
                tried.append(reason("earlier_replication", **_names(sweep)))
            elif changes:
                changed = [[*change] for change in changes]
                tried.append(reason("earlier_sweep", **_names(sweep), changes=changed))
        if any(len(seen) >= self.study["seeds"] and seeds - seen for seen in looks):
            tried.append(reason("alpha_spent", planned=self.study["seeds"]))
        if gone := self.lost.union(*looks) - seeds:
            tried.append(reason("seeds_left_out", seeds=len(gone)))
        numbers = [sorted(_number(seed, several) for seed in seen) for seen in looks]
        return {"looks": numbers, "tried": tried, "regimes": self._other_settings(claim)}

    def _is_under(self, sweep: Sweep, before: Rule, rule: Rule) -> bool:
        """Return whether two contrasts were measured under the same conditions: the levels that
        either rule names are the same by name, or by their settings, including defaults.
        """
        earlier: Any = before.get("where", rule["where"])
        where: Any = rule["where"]
        if earlier == where:
            return True
        then, now = settings(earlier, sweep.levels), settings(where, self.current.levels)
        both = ({**sweep.settings, **then}, {**self.current.settings, **now})
        return all(both[0].get(key) == both[1].get(key) for key in then | now)

    def _other_settings(self, claim: Claim) -> int:
        """Return in how many other settings a question was asked, without smoke tests."""
        keys = {*contrasts(claim, self.current.levels), former_question(claim)}
        sweeps = [s for s in self.log.sweeps if keys & s.questions.keys()]
        elsewhere = [s.regime for s in sweeps if not s.is_in_setting_of(self.current)]
        settings = (regime for regime in elsewhere if regime.get("scale") != SMOKE)
        return len({json.dumps(regime, sort_keys=True) for regime in settings})


def pooled(evidence: Evidence, replicate: int, parts: list[tuple[int, Evidence]]) -> Evidence:
    """Return evidence with added runs of the same arms from other evidence, each with its
    replicate number.

    A run is added if the evidence has no run of this arm and seed, or a failed one. With several
    replicates, seeds are renumbered so that they stay distinct.
    """
    of_parts = [(number, run) for number, part in parts for run in with_tried_values(part)]
    several = any(seed_of(run, number)[0] != replicate for number, run in of_parts)
    labels = {key(run["levels"]): run["arm"] for run in evidence.runs}
    runs = with_tried_values(evidence) if parts else evidence.runs
    by_cell = {_cell(run): run for run in (_numbered(run, replicate, several) for run in runs)}
    for number, run in of_parts:
        added = _numbered(run, number, several)
        existing, arm = by_cell.get(_cell(added)), labels.get(key(added["levels"]))
        if arm is not None and (existing is None or existing["status"] == "failed"):
            cell = existing["cell"] if existing else 1 + max(x["cell"] for x in by_cell.values())
            by_cell[_cell(added)] = {**added, "cell": cell, "arm": arm, "reused": True}
    every = [*(part.statistics for _, part in parts), evidence.statistics]
    statistics = {identity: rows for each in every for identity, rows in each.items()}
    return replace(evidence, runs=[*by_cell.values()], statistics=statistics)


def _cell(run: Run) -> str:
    return run_key(run["levels"], run["seed"])


def _numbered(run: Run, replicate: int, several: bool) -> Run:
    seed = seed_of(run, replicate)
    return {**run, "seed": _number(seed, several), "replicate": seed[0]} if several else run


def _number(seed: Seed, several: bool) -> int:
    return seed[1] + PER_REPLICATE * seed[0] * several


def _names(sweep: Sweep) -> Values:
    """Return the name, the day and the number of seeds of a sweep."""
    day = f"{datetime.fromtimestamp(sweep.time, UTC):%Y-%m-%d}"
    return {"sweep": sweep.name, "day": day, "seeds": len(sweep.seeds)}
