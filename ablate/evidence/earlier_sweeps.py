"""What earlier sweeps of the same questions add to the evidence of this one, and to its verdicts.

Seeds of earlier sweeps with the same settings are pooled with those of this one: a seed that is
left out comes back, and fresh seeds are a further look at all of them, which spends alpha as any
look does (ablate.stats.spending). A claim is exploratory where its question was asked before with
other settings or by another rule, where alpha was spent, or where runs are gone that were begun or
seen.
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
    BOOK,
    UNUSUAL,
    Book,
    Look,
    Rule,
    Seed,
    Sweep,
    concerns,
    differences,
    family,
    place,
    question,
    rule,
    write,
)
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import gather
from ablate.evidence.types import Asked, Claim, Levels, Run, Study
from ablate.phrases import listed, name_of
from ablate.record.files import write_text
from ablate.record.label import key

PER_REPLICATE = 1_000_000  # seed 3 of replicate 2 is number 2,000,003 where several are pooled
Parts = list[tuple[int, Evidence]]  # with the replicate of each
Reader = Callable[[Sweep], Evidence | None]  # None where nothing can be read any more


def looked(results: Path, sweep: Path, evidence: Evidence) -> Evidence:
    """The evidence with what earlier sweeps add, this look at it counted and written down."""
    past = _past(results, sweep, evidence)
    found = past.joined(evidence)
    write(results, past.look(found))
    _keep_lines(results, sweep, past)
    return found


def as_part(results: Path, sweep: Path, evidence: Evidence) -> Evidence:
    """The evidence of a part of a study, with what earlier sweeps make of its questions.

    Nothing is pooled, and as nobody sees a verdict, this is no look.
    """
    past = _past(results, sweep, evidence)
    found = past.charged(evidence, whole=False)
    _keep_lines(results, sweep, past)
    return replace(found, registration={**found.registration, "part": True})


def _past(results: Path, sweep: Path, evidence: Evidence) -> "Past":
    book = Book.read(results)
    own = book.of(os.path.relpath(sweep, results))
    return Past.of(book, own, evidence.study, lambda sweep: _evidence(sweep, results))


def _keep_lines(results: Path, sweep: Path, past: "Past") -> None:
    lines = Book.read(results).about(past.own)
    write_text(sweep / BOOK, "".join(f"{line}\n" for line in lines))


@dataclass(frozen=True)
class Past:
    """What was known of the questions of a sweep before it."""

    book: Book
    own: Sweep
    study: Study
    parts: Parts  # evidence of earlier sweeps with the same settings
    lost: set[Seed]  # of those whose evidence is gone

    @classmethod
    def of(cls, book: Book, own: Sweep, study: Study, read: Reader) -> "Past":
        """Read the earlier sweeps that differ from this one in their seeds alone."""
        past = cls(book, own, study, [], set())
        for one in {s.folder: s for claim in past.claims for s in past.alike(claim)}.values():
            found = read(one)
            if found is None:
                past.lost.update(one.planned)
            else:
                past.parts.append((one.replicate, found))
        return past

    @property
    def claims(self) -> list[Claim]:
        """Those that leave something to chance."""
        return [claim for claim in self.study["claims"] if claim["kind"] != "exact"]

    def joined(self, evidence: Evidence) -> Evidence:
        """The evidence with the runs of the earlier sweeps, and what is known of each claim."""
        return self.charged(pooled(evidence, self.own.replicate, self.parts))

    def charged(self, found: Evidence, *, whole: bool = True) -> Evidence:
        """Return evidence with what the log says of its claims; a part may lack other seeds."""
        several = any("replicate" in run for run in found.runs)
        seeds = {*self.look(found).seeds}
        asked = {name_of(claim): self.asked(claim, seeds, several, whole) for claim in self.claims}
        looks = max((len(one["looks"]) for one in asked.values()), default=0)
        return replace(found, registration={**found.registration, "looks": looks, "asked": asked})

    def look(self, evidence: Evidence) -> Look:
        """The look at evidence that is being taken."""
        seeds: dict[bool, set[Seed]] = {False: set(), True: set()}
        for run in evidence.runs:
            seeds[run["status"] == "failed"].add(seed_of(run, self.own.replicate))
        failed = sorted(seeds[True])
        return Look(self.own.folder, time.time(), sorted(seeds[False] - seeds[True]), failed)

    def alike(self, claim: Claim) -> list[Sweep]:
        """Earlier sweeps for a claim's question that differ from this one in their seeds alone.

        None for a contest, which is judged by its own seeds.
        """
        if self.own.contest:
            return []
        return [sweep for sweep in self.before(claim) if not self._changed(sweep, claim)]

    def before(self, claim: Claim) -> list[Sweep]:
        """All earlier sweeps for a claim's question in this regime, but those in this folder."""
        found = self.book.before(self.own, question(claim), rule(claim, self.study))
        return [sweep for sweep in found if sweep.folder != self.own.folder]

    def asked(self, claim: Claim, seeds: set[Seed], several: bool, whole: bool) -> Asked:
        """Of a claim the seeds of every earlier look, why it is exploratory, and other regimes."""
        again = [s for s in self.book.asking(question(claim), self.own) if s.same(self.own)]
        looks = [seen for seen in self.book.seen([*self.alike(claim), *again]) if seen != seeds]
        otherwise = [*self._otherwise(claim), *self._in_family(claim)]
        tried = [*otherwise, *(self._spent(looks, seeds) if whole else ())]
        return {
            "looks": [sorted(_number(seed, several) for seed in seen) for seen in looks],
            "tried": tried,
            "regimes": self._regimes(question(claim)),
        }

    def _changed(self, sweep: Sweep, claim: Claim) -> list[str]:
        """What was not the same in an earlier sweep, of what a claim is about."""
        return sweep.changes(self.own, [one for one in sweep.levels if concerns(claim, one)])

    def _otherwise(self, claim: Claim) -> list[str]:
        """Earlier sweeps with other settings, or for claims with other rules."""
        own, asked = rule(claim, self.study), question(claim)
        if self.own.contest:
            return [f"{_said(sweep)}, as a contest" for sweep in self.before(claim)]
        found = []
        for sweep in self.before(claim):
            changed = self._changed(sweep, claim)
            if own not in sweep.questions[asked]:
                changed += differences(UNUSUAL | sweep.questions[asked][0], UNUSUAL | own)
            if changed:
                found.append(f"{_said(sweep)}: {listed(changed)}")
        return found

    def _in_family(self, claim: Claim) -> list[str]:
        """Earlier sweeps that measured the same contrast in another metric, or in another file."""
        begun = min(sweep.time for sweep in self.book.sweeps if sweep.same(self.own))
        earlier = [
            sweep
            for sweep in self.book.asking(family(claim), self.own)
            if sweep.time < begun and question(claim) not in sweep.questions
        ]
        now = place(claim)
        said = []
        for sweep in earlier:
            same = [one for one in sweep.questions[family(claim)] if self._same(sweep, one, now)]
            if same:
                metrics = listed([*dict.fromkeys(one["metric"] for one in same)])
                said.append(f"{_said(sweep)}: the same contrast in {metrics}")
        return said

    def _same(self, sweep: Sweep, earlier: Rule, now: Rule) -> bool:
        """Whether two contrasts were measured under the same settings, defaults filled in."""
        before = sweep.sets(cast(Levels, earlier["where"]))
        after = self.own.sets(cast(Levels, now["where"]))
        return all(
            {**sweep.settings, **before}.get(key) == {**self.own.settings, **after}.get(key)
            for key in before | after
        )

    def _spent(self, looks: list[set[Seed]], seeds: set[Seed]) -> list[str]:
        """A look that spent all of alpha, and seeds that are not in any more."""
        return spent(self.study["seeds"], looks, seeds, self.lost)

    def _regimes(self, asked: str) -> int:
        """In how many other regimes the question was asked; one at smoke scale asks nothing."""
        asking = [s.regime for s in self.book.sweeps if asked in s.questions]
        others = [regime for regime in asking if regime.get("scale") != SMOKE]
        return len({json.dumps(one, sort_keys=True) for one in others if one != self.own.regime})


def spent(planned: int, looks: list[set[Seed]], seeds: set[Seed], begun: set[Seed]) -> list[str]:
    """Return why a question cannot be asked of these seeds any more, in words.

    Args:
        planned: number of seeds of the study.
        looks: the seeds that each earlier look saw.
        seeds: those that are judged now.
        begun: further seeds that were begun and have to be in.
    """
    found = []
    if any(len(seen) >= planned and seeds - seen for seen in looks):
        found.append(f"all of alpha was spent by a look at the {planned} planned seeds")
    if gone := begun.union(*looks) - seeds:
        found.append(f"{len(gone)} seed{'s' * (len(gone) > 1)} begun or seen before are not in")
    return found


def pooled(evidence: Evidence, replicate: int, parts: Parts) -> Evidence:
    """Evidence with the runs that its arms have in other evidence, each arm and seed once.

    Runs of several replicates get numbers for their seeds that tell them apart.
    """
    others = [(number, run) for number, part in parts for run in part.runs]
    several = any(seed_of(run, number)[0] != replicate for number, run in others)
    labels = {key(run["levels"]): run["arm"] for run in evidence.runs}
    own = [_numbered(run, replicate, several) for run in evidence.runs]
    found = {_cell(run): run for run in own}
    for replicate_of_run, run in others:
        one = _numbered(run, replicate_of_run, several)
        free = 1 + max(run["cell"] for run in found.values())
        known = found.get(_cell(one))
        arm = labels.get(key(one["levels"]))
        if arm is not None and (known is None or known["status"] == "failed"):
            number = known["cell"] if known else free
            found[_cell(one)] = {**one, "cell": number, "arm": arm, "reused": True}
    every = [*(part.statistics for _, part in parts), evidence.statistics]
    statistics = {identity: rows for one in every for identity, rows in one.items()}
    return replace(evidence, runs=[*found.values()], statistics=statistics)


def _cell(run: Run) -> str:
    return json.dumps([key(run["levels"]), run["seed"]])


def _numbered(run: Run, replicate: int, several: bool) -> Run:
    seed = seed_of(run, replicate)
    if not several:
        return run
    return {**run, "seed": _number(seed, several), "replicate": seed[0]}


def _number(seed: Seed, several: bool) -> int:
    return seed[1] + PER_REPLICATE * seed[0] * several


def seed_of(run: Run, replicate: int) -> Seed:
    """Replicate and seed of a run of a sweep with this replicate, pooled before or not."""
    if "replicate" not in run:
        return replicate, run["seed"]
    return run["replicate"], run["seed"] - PER_REPLICATE * run["replicate"]


def _evidence(sweep: Sweep, results: Path) -> Evidence | None:
    """Return the evidence of an earlier sweep; None if it cannot be read any more."""
    folder = results / sweep.folder
    try:
        return gather(folder) if folder.resolve().is_relative_to(results.resolve()) else None
    except (UserError, OSError):
        return None


def _said(sweep: Sweep) -> str:
    day = f"{datetime.fromtimestamp(sweep.time, UTC):%Y-%m-%d}"
    return f"{sweep.name} of {day}, {len(sweep.seeds)} seeds"
