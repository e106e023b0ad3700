"""The book of what was started and looked at for each question, whatever its study was called.

results/book.jsonl has a line for every sweep that begins: its question (which arms in which metric,
`question`), the rule of each claim, the settings that are no factor, the seeds. It
has another for every look, with the seeds that it saw and those that failed. Lines are only ever
added, and each is sealed. experiments/NAME/book.jsonl is a copy of the lines about that evidence.
It documents the committed verdict and is never read for another sweep: what others ran is no part
of the user's analyses. A question is asked in a regime (data, size, budget, device); what was asked
in others is counted and stands beside the verdict. Exact claims leave nothing to chance and are not
booked. The same contrast in another metric, or in a file with more factors, belongs to the same
family of questions (`family`).

Order decides what a verdict is charged for, so a line never has an earlier time than those before
it, whatever the clock says. Lines that a damaged book has lost are written again from the copies
that sweeps keep beside their verdicts.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from filelock import FileLock

from ablate.errors import UserError
from ablate.evidence.registration import class_name, digest
from ablate.evidence.types import Claim, Levels, Registration, Study
from ablate.record.files import SEAL, append_line, check_seal, read_log, seal, write_text, writing

BOOK = "book.jsonl"
SIDES = ("where", "minus", "over")
ARMS = ("treatment", "baseline", "where", "minus")  # of a claim, what names the levels compared
RULE = ("kind", "margin", "alpha", "better", "scale", "treatment")
OF_STUDY = ("seeds", "tune")
UNUSUAL = {"cannot": False}  # a part of the rules of few claims, and what the others have
BESIDE = ("metric", "measure")  # what is measured of the same runs
NOT_GIVEN = "not given"
Rule = dict[str, object]
Seed = tuple[int, int]  # replicate and seed


@dataclass(frozen=True)
class Sweep:
    """A sweep that was begun; `folder` is relative to that of all results."""

    name: str
    time: float
    folder: str
    study: str  # its hash
    regime: dict[str, object]  # without what changes a number by its rounding alone
    settings: dict[str, object]
    replicate: int
    seeds: list[int]
    questions: dict[str, list[Rule]]
    contest: bool = False  # fresh seeds for a verdict that is there; judged by themselves
    levels: dict[str, dict[str, object]] = field(
        default_factory=dict
    )  # what each `factor=level` sets
    free: list[str] = field(default_factory=list)  # keys that settings leave out: factors, tuned
    code: str = ""  # digest of the package's source; other code may have other keys
    claims: list[list[str]] = field(default_factory=list)  # id and reading of each
    components: dict[str, str] = field(default_factory=dict)  # options that all arms have

    def sets(self, where: Mapping[str, object]) -> dict[str, object]:
        """Return what these levels set, by dotted keys."""
        parts = [self.levels.get(f"{key}={level}", {key: level}) for key, level in where.items()]
        return {key: value for one in parts for key, value in one.items()}

    @property
    def planned(self) -> set[Seed]:
        """The seeds that it was begun with."""
        return {(self.replicate, seed) for seed in self.seeds}

    def same(self, other: "Sweep") -> bool:
        """Whether it makes the same runs."""
        return not self.changes(other, self.levels) and self.planned == other.planned

    def changes(self, now: "Sweep", levels: Iterable[str]) -> list[str]:
        """What is not the same in a later sweep: its settings, and what some levels set."""
        apart = (*self.free, *now.free, *BESIDE) if self.code == now.code != "" else None
        found = differences(self.settings, now.settings, apart)
        for level in levels:
            if level in self.levels and level in now.levels:
                changed = differences(self.levels[level], now.levels[level], () if apart else None)
                found += [f"{said} in {level}" for said in changed]
        return found


@dataclass(frozen=True)
class Look:
    """A conclusion: the seeds that ended, and those that failed."""

    folder: str
    time: float
    seeds: list[Seed]
    failed: list[Seed]


@dataclass(frozen=True)
class Book:
    """All lines of one results folder, in the order of their times."""

    sweeps: list[Sweep]
    looks: list[Look]

    @classmethod
    def read(cls, results: Path) -> "Book":
        """Read the book of a results folder.

        Raises:
            UserError: a line was changed since it was written.
        """
        ordered = in_order(read_lines(results / BOOK))
        return cls(
            [line for line in ordered if isinstance(line, Sweep)],
            [line for line in ordered if isinstance(line, Look)],
        )

    def of(self, folder: str) -> Sweep:
        """The sweep that was begun in a folder, the last time that it was.

        Raises:
            UserError: the book has lost it.
        """
        begun = [sweep for sweep in self.sweeps if sweep.folder == folder]
        if not begun:
            raise UserError(
                f"{BOOK} has lost the line of {folder}: restore it, or remove that folder and "
                "start the sweep again"
            )
        return begun[-1]

    def asking(self, question: str, own: Sweep) -> list[Sweep]:
        """All sweeps for a question in the regime of one; contests know of contests alone."""
        alike = [s for s in self.sweeps if (s.regime, s.contest) == (own.regime, own.contest)]
        return [sweep for sweep in alike if question in sweep.questions]

    def before(self, own: Sweep, question: str, rule: Rule) -> list[Sweep]:
        """Those that were begun before the first one like `own` under this rule."""
        asked = self.asking(question, own)
        first = min(s.time for s in asked if s.same(own) and rule in s.questions[question])
        return [s for s in asked if s.time < first]

    def seen(self, sweeps: Iterable[Sweep]) -> list[set[Seed]]:
        """The seeds of every look at some sweeps, each once, in the order of the looks."""
        folders = {sweep.folder for sweep in sweeps}
        found = [set(look.seeds) for look in self.looks if look.folder in folders]
        return [seeds for i, seeds in enumerate(found) if seeds not in found[:i]]

    def registration(self, own: Sweep) -> Registration:
        """When this form of a study was first begun in this regime, whatever its name.

        `earlier` are the other forms before it, of this name or with one of its questions.
        """
        forms: dict[str, float] = {}
        for one in self.sweeps:
            related = one.name == own.name or one.questions.keys() & own.questions.keys()
            if one.regime == own.regime and related:
                forms.setdefault(one.study, one.time)
        first = forms[own.study]
        earlier = [form for form, when in forms.items() if when < first]
        return {
            "hash": own.study,
            "time": first,
            "earlier": earlier,
            "looks": 0,
            "sweep": own.folder,
            "components": own.components,
        }

    def about(self, own: Sweep) -> list[str]:
        """All lines about the questions of a sweep, in every regime."""
        sweeps = [s for s in self.sweeps if s.questions.keys() & own.questions.keys()] or [own]
        folders = {sweep.folder for sweep in sweeps}
        looks = [look for look in self.looks if look.folder in folders]
        known: list[Sweep | Look] = [*sweeps, *looks]
        return [_line(one) for one in sorted(known, key=lambda one: one.time)]


def register(results: Path, sweep: Sweep) -> Registration:
    """Write a sweep down, and return the registration of its study.

    Raises:
        UserError: a line of the book was changed since it was written.
    """
    _restore(results, Book.read(results))
    write(results, sweep)
    return Book.read(results).registration(sweep)


def write(results: Path, one: Sweep | Look) -> None:
    """Add a line to the book."""
    with _alone(results) as path:
        latest = max((other.time for other in read_lines(path)), default=0.0)
        later = max(one.time, math.nextafter(latest, math.inf))
        append_line(path, _line(replace(one, time=later)))


def _restore(results: Path, book: "Book") -> None:
    """Write lines again that are not in the book, and are kept beside the verdict of a sweep."""
    there: list[Sweep | Look] = [*book.sweeps, *book.looks]
    known = {_line(one) for one in there}
    copies = sorted(results.glob(f"sweeps/*/*/{BOOK}"))
    kept = {_line(one): one.time for copy in copies for one in read_lines(copy)}
    lost = sorted(kept.keys() - known, key=lambda line: kept[line])
    if lost:
        with _alone(results) as path:
            print(f"{path} has lost {len(lost)} lines, which sweeps have kept: they are back")
            for line in lost:
                append_line(path, line)


@contextmanager
def _alone(results: Path) -> Iterator[Path]:
    """Keep others from writing the book; half a line that a killed process has left goes."""
    path, locks = results / BOOK, results / "locks"
    with writing(path):
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / "book.lock"):
            if path.exists() and not (text := path.read_bytes()).endswith(b"\n"):
                os.truncate(path, text.rfind(b"\n") + 1)
            yield path


def copy_book(sweep: Path, target: Path) -> None:
    """Put the lines about the questions of a sweep beside evidence that is kept."""
    if (sweep / BOOK).exists():
        write_text(target / BOOK, (sweep / BOOK).read_text(encoding="utf-8"))


def questions(study: Study) -> dict[str, list[Rule]]:
    """The rules of a study's claims by their question."""
    found: dict[str, list[Rule]] = {}
    for claim in study["claims"]:
        if claim["kind"] != "exact":
            found.setdefault(question(claim), []).append(rule(claim, study))
            found.setdefault(family(claim), []).append(place(claim))
    return found


def question(claim: Claim) -> str:
    """Which arms a claim compares, whichever it calls the treatment, and in which metric."""
    asked: Mapping[str, object] = claim
    arms = sorted(json.dumps(asked[arm], sort_keys=True) for arm in ("treatment", "baseline"))
    return digest([arms, claim["metric"], *(asked[side] for side in SIDES)])


def family(claim: Claim) -> str:
    """Return the key of all questions about one contrast, in any metric and any file.

    Levels that both arms share, and `where`, say under which settings the contrast was measured.
    """
    arms = [claim["treatment"], claim["baseline"]]
    shared = {key for key in arms[0].keys() & arms[1].keys() if arms[0][key] == arms[1][key]}
    apart = [{key: arm[key] for key in arm.keys() - shared} for arm in arms]
    contrast = sorted(json.dumps(arm, sort_keys=True) for arm in apart)
    return f"family {digest([contrast, claim['minus'], claim['over']])}"


def place(claim: Claim) -> Rule:
    """Return the metric of a claim, and the levels that both of its arms have."""
    treatment, baseline = claim["treatment"], claim["baseline"]
    shared = {key: treatment[key] for key in treatment if baseline.get(key) == treatment[key]}
    return {"metric": claim["metric"], "where": claim["where"] | shared}


def concerns(claim: Claim, level: str) -> bool:
    """Whether a claim has an arm or a control with a level, `factor=level`.

    It has all levels of a factor that none of its arms names.
    """
    asked = cast(Mapping[str, Levels], claim)
    factor, _, name = level.partition("=")
    named, control = (
        {str(asked[arm][factor]) for arm in arms if factor in (asked.get(arm) or {})}
        for arms in (ARMS, ("loses",))
    )
    return not named or name in named | control


def rule(claim: Claim, study: Study) -> Rule:
    """What decides a claim."""
    own: Mapping[str, object] = claim
    common: Mapping[str, object] = study
    given = {key: own[key] for key in RULE} | {key: common[key] for key in OF_STUDY}
    return given | {key: True for key in UNUSUAL if own.get(key)}


def differences(
    before: dict[str, object], now: dict[str, object], apart: Sequence[str] | None = None
) -> list[str]:
    """What is not the same in two.

    Keys that one lacks came with other code where `apart` is None; else they count as well, but for
    those at or below one of these nodes.
    """

    def counts(key: str) -> bool:
        if key in before and key in now:
            return True
        return apart is not None and not any(f"{key}.".startswith(f"{node}.") for node in apart)

    def named(settings: dict[str, object], key: str) -> Any:
        return class_name(key, settings.get(key, NOT_GIVEN))

    return [
        f"{key} was {before.get(key, NOT_GIVEN)} and is {now.get(key, NOT_GIVEN)}"
        for key in before | now
        if named(before, key) != named(now, key) and counts(key)
    ]


Line = Sweep | Look


def in_order(lines: Iterable[Line]) -> list[Line]:
    """Return each line once, in the order of their times."""
    return sorted({_line(line): line for line in lines}.values(), key=lambda line: line.time)


def write_lines(lines: Iterable[Line], path: Path) -> None:
    """Write a copy of some lines, for evidence that is kept."""
    write_text(path, "".join(f"{_line(line)}\n" for line in lines))


def _line(one: Sweep | Look) -> str:
    said = {"what": type(one).__name__.lower(), **asdict(one)}
    return json.dumps(seal(said), sort_keys=True)


def read_lines(path: Path) -> Iterator[Line]:
    """Yield all lines of a file, but for half a line at its end; none where there is no file.

    Raises:
        UserError: the file cannot be read, or a line was changed since it was written.
    """
    for number, line in enumerate(read_log(path).split("\n")[:-1], 1):
        try:
            found = json.loads(line)
            damaged = SEAL in found and not check_seal(found)
        except (ValueError, TypeError, RecursionError):
            damaged = True
        if damaged:
            raise UserError(
                f"{path}: line {number} is damaged or was edited: restore it, or remove it and "
                "what it counted"
            )
        if one := _parsed(found):
            yield one


def _parsed(line: dict[str, Any]) -> Sweep | Look | None:
    """What a line says; one of another version is passed over."""
    line.pop(SEAL, None)
    try:
        if line.pop("what") == "sweep":
            return Sweep(**line)
        line |= {key: [(r, s) for r, s in line[key]] for key in ("seeds", "failed")}
        return Look(**line)
    except (ValueError, TypeError, KeyError):
        return None
