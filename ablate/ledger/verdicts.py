"""Collect the verdicts of all experiments, select the newest ones, and correct them for multiple
tests over the whole ledger.

A study corrects only for its own claims. Among a hundred studies without any true effect, some
verdicts would still be decisive. A family of tests consists of all verdicts of one origin that can
be wrong by chance, over claims, experiments and settings: all except exact verdicts. There are
three origins: committed verdicts, the user's experiments and the user's sweeps. So no verdict of
the user affects committed verdicts. The p-values of a family are those of each claim alone, and
already account for interim analyses. Holm's correction over them bounds the probability that any
verdict of the family is false. A verdict has one p-value for "supported" and one for "refuted", but
is only one member of the family; the smaller p-value represents it (ablate.stats.holm).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ablate.config.smoke import SMOKE
from ablate.errors import UserError
from ablate.evidence.outcome import needs_no_training
from ablate.evidence.registration import departures, shared_levels
from ablate.evidence.types import Entry, Setting, Verdict
from ablate.ledger.claims import Reading, read_readings
from ablate.ledger.places import COMMITTED, ORIGINS, verdict_files
from ablate.phrases import each_of, grouped, listed
from ablate.progress import track
from ablate.stats.holm import adjust
from ablate.verdict.decision import (
    INCONCLUSIVE,
    REFUTED,
    SUPPORTED,
    at_each_budget,
    read_verdict,
    side,
    trend_reversal,
    was_trained,
)
from ablate.verdict.replication import Replication, asked_again, read_contest

VERDICTS = (SUPPORTED, REFUTED, INCONCLUSIVE)
Pairs = tuple[tuple[str, str], ...]
# Config keys whose levels are part of every setting, with the names that settings use for them.
NAMED = {
    "data": "data",
    "model": "model",
    "model.d_model": "d_model",
    "model.n_layers": "n_layers",
    "budget.steps": "steps",
}
# Fields of a verdict that are texts of a claim or of its setting, under the same names.
TEXTS = ("statement", "source", "kind", "verdict", "grade", "reading", "metric", "scale", "device")


@dataclass(frozen=True)
class Finding:
    """The verdict of one experiment on one claim in one setting (data, model size, training steps,
    device).
    """

    claim: str
    statement: str
    source: str
    kind: str
    verdict: str
    grade: str  # such as "direction only" or "too small to matter"; "" if there is none
    reading: str  # the meaning of the claim that was judged; "" if the claim has only one
    metric: str
    effect: float | None  # None if the verdict has none, for example if an arm never learned
    interval: tuple[float, float] | None
    exploratory: bool
    experiment: str
    data: tuple[str, ...]  # the corpora
    scale: str
    steps: tuple[int, ...]  # optimiser steps, several if arms differ; () if unknown
    registered: float  # unix time of the registration; 0 without one
    looks: int  # number of earlier analyses of the study
    folder: Path = Path()
    alpha: float = 0.0
    # p-values of the claim alone, on the scale of alpha, after interim analyses; empty if exact
    p: dict[str, float] = field(default_factory=dict)
    ledger_wide: str = ""  # the verdict after Holm's correction over the ledger; "" if exact
    budget: str = ""  # of a claim with two budgets: the budget, in words
    again: Replication | None = None  # the replication of the verdict with new seeds
    origin: str = COMMITTED  # one of ablate.ledger.places.ORIGINS
    trained: bool = False  # whether the verdict is about trained models
    size: str = ""  # size of the models
    conditions: Pairs = ()  # levels of both arms, by their keys
    components: Pairs = ()  # options of config groups that all arms share
    device: str = ""
    arms: str = ""  # the compared arms
    margin: float = 0.0  # 0 if the claim has no margin
    reversal: str = ""  # neighbouring levels between which a supported trend reverses
    asked: Reading | None = None  # the judged meaning and its source, if there are several

    @property
    def regime(self) -> tuple[str, ...]:
        """The claim, its meaning, the experiment, the setting and the origin, which together
        identify this verdict.

        A later verdict with the same five properties replaces this verdict. The origin says
        whether the verdict is published with the project ("committed") or belongs to the user, so a
        verdict of the user never replaces a committed verdict.
        """
        place = (listed([*self.data]), self.size, self.scale, self.steps_text, self.origin)
        return (self.claim, self.reading, self.experiment, *place)

    @property
    def alike(self) -> dict[str, str]:
        """The options and values that both compared arms have, by config key."""
        return dict(self.components) | dict(self.conditions)

    @property
    def fresh(self) -> "Finding | None":
        """The verdict of a replication with new seeds; None if there is no replication, or if the
        replication is exploratory.

        Replications of earlier versions stored no p-value. Such a verdict gets the p-value 1, so
        that it cannot decide a claim.
        """
        if not self.again or self.again["exploratory"]:
            return None
        answer = self.again["fresh"]
        ends, unknown = answer["interval"], dict.fromkeys(VERDICTS, 1.0)
        return replace(
            self,
            verdict=answer["verdict"],
            effect=answer["effect"],
            interval=(ends[0], ends[1]) if ends else None,
            p=answer.get("p", unknown) if self.p else {},
            again=None,
        )

    @property
    def remark(self) -> bool:
        """Whether the experiment judged a meaning of the claim that no document states.

        A claim may have several meanings, which are judged separately. A meaning that no document
        states is only a remark, and says nothing about the documents.
        """
        return bool(self.asked and self.asked.remark)

    @property
    def steps_text(self) -> str:
        """The number of optimiser steps, such as "1,200" or "60 and 600"; "" if unknown."""
        return grouped([*self.steps]) if self.steps else ""


def collect(experiments: Path | None, results: Path) -> tuple[list[Finding], list[str]]:
    """Return the verdicts of all experiments and sweeps, and a warning for each damaged file.

    Smoke tests, which only show that an experiment runs, are left out.

    Args:
        experiments: folder with evidence; None for the catalogue and the user's folder.
        results: folder of all results, with the user's sweeps.
    """
    findings: list[Finding] = []
    warnings = []
    files = list(verdict_files(experiments, results))
    for origin, path in track(files, "reading verdicts", len(files)):
        try:
            findings += [finding for finding in _read(path, origin) if finding.scale != SMOKE]
        except UserError as error:
            warnings.append(f"{error}; its verdicts were passed over")
    return findings, warnings


def latest(all_findings: list[Finding]) -> dict[str, list[Finding]]:
    """Return for each claim the newest verdict of each reading, experiment and setting.

    A reading is one of several meanings of a claim. The verdicts of a claim are sorted by origin:
    committed verdicts come first, then verdicts of the user's experiments, then verdicts of the
    user's sweeps.
    """
    newest: dict[tuple[str, ...], list[Finding]] = {}
    for finding in sorted(all_findings, key=lambda finding: (finding.registered, finding.looks)):
        kept = newest.get(finding.regime, [])
        same = [other for other in kept if other.folder == finding.folder]
        newest[finding.regime] = [*same, finding]
    claims: dict[str, list[Finding]] = {}
    for findings in newest.values():
        claims.setdefault(findings[0].claim, []).extend(findings)
    return {
        claim: sorted(findings, key=lambda finding: (ORIGINS.index(finding.origin), finding.regime))
        for claim, findings in claims.items()
    }


def _read(path: Path, origin: str) -> Iterator[Finding]:
    whole, contest = read_verdict(path), read_contest(path.parent)
    departed = _departed(path.parent, whole)
    for claim in at_each_budget(whole["claims"]):
        again = asked_again(claim, contest)
        finding = _finding(claim, whole, departed)
        yield replace(finding, folder=path.parent, origin=origin, again=again)


def _departed(folder: Path, verdict: Verdict) -> bool:
    """Return whether study.json in the folder of a verdict differs from the registered study, that
    is, from the study as it was fixed before the runs.

    The result is False if the folder has no study.json.

    Raises:
        UserError: the study is damaged, or the verdict belongs to another registration.
    """
    if not (folder / "study.json").exists():
        return False
    from ablate.evidence.digest import read_about  # imported late, because it imports numpy

    about = read_about(folder)
    if verdict["study_hash"] != about["registration"].get("hash"):
        raise UserError(
            f"{folder / 'verdict.json'} belongs to another study than study.json in this folder: "
            f"run `ablate judge {folder}` to write it again"
        )
    return bool(departures(about["study"], about["registration"], about["registered"], []))


def _finding(claim: Entry, whole: Verdict, departed: bool) -> Finding:
    """Return a verdict without its folder, its origin and its replication."""
    conditions = dict(_conditions(claim))
    named = {name: conditions.pop(key) for key, name in NAMED.items() if key in conditions}
    setting = cast(Setting, {**whole["regime"], **named})
    given: Any = {**claim, **setting}
    fields: Any = {key: str(given.get(key) or "") for key in TEXTS}
    return Finding(
        **fields,
        claim=claim["id"],
        effect=None if (effect := claim["effect"]) is None else float(effect),
        interval=(float(ends[0]), float(ends[1])) if (ends := claim["interval"]) else None,
        margin=float(claim["margin"]),
        alpha=float(claim["alpha"]),
        p=dict(claim["p_look"]),
        data=tuple(map(str, each_of(setting["data"]))),
        size=_size(setting),
        exploratory=departed or claim["exploratory"],
        experiment=whole["experiment"],
        steps=steps_of_claim(claim, whole),
        registered=float(whole["registered"]),
        looks=whole["looks"],
        budget=_budget(claim),
        trained=was_trained(whole) and not needs_no_training(claim["metric"]),
        asked=read_readings().get((claim["id"], claim.get("reading", ""))),
        conditions=_pairs(conditions),
        components=_pairs(whole["components"]),
        arms=_arms(claim),
        reversal=trend_reversal(claim, whole),
    )


def steps_of_claim(claim: Entry, whole: Verdict) -> tuple[int, ...]:
    """Return the numbers of training steps of a verdict; one, unless arms differ; () if unknown."""
    level = dict(_conditions(claim)).get("budget.steps")
    steps = claim.get("steps") or level or whole["regime"].get("steps") or []
    return tuple(map(int, each_of(steps)))


def _conditions(claim: Entry) -> Pairs:
    """Return the factor levels that both compared arms of a claim have, as (config key, level)
    pairs.
    """
    return _pairs({**claim["where"], **shared_levels(claim)})


def _pairs(levels: Mapping[str, object]) -> Pairs:
    return tuple(sorted((key, str(level)) for key, level in levels.items()))


def _arms(claim: Entry) -> str:
    """Return the compared arms of a claim as text, or the factor of a trend.

    An interaction subtracts the difference of the same arms under other conditions. In this case
    the text also names the levels that define these other conditions.
    """
    compared = " - ".join(claim["arms"]) or claim["over"]
    levels = (f"{key.rpartition('/')[2]} {level}" for key, level in claim["minus"].items())
    return f"{compared} minus {', '.join(levels)}" if claim["minus"] else compared


def _size(setting: Setting) -> str:
    """Return the name of the model of a setting, with its width and its number of layers if they
    are known.
    """
    named = {"model": "", "d_model": " wide", "n_layers": " layers"}
    given: Any = setting
    parts = ((each_of(given[key]), unit) for key, unit in named.items() if given.get(key))
    return ", ".join(f"{listed(values)}{unit}" for values, unit in parts)


def _budget(claim: Entry) -> str:
    """Return the number of training steps of a verdict in words, such as "3,000 steps, still
    learning"; "" if the claim was tested after a single number of steps.
    """
    if "steps" not in claim:
        return ""
    long = claim["steps"] != claim["short"]["steps"]
    still = ", still learning" if long and claim["learning"]["still"] else ""
    return f"{grouped(claim['steps'])} steps{still}"


def with_family(claims: dict[str, list[Finding]]) -> dict[str, list[Finding]]:
    """Return the verdicts on every claim, each with the verdict after Holm's correction.

    The corrected verdict is in `ledger_wide`. Exact verdicts have none.
    """
    tested = [f for findings in claims.values() for f in findings if f.p]
    corrected: dict[int, Finding] = {}  # by the `id()` of the given objects
    for origin in ORIGINS:
        family = [finding for finding in tested if finding.origin == origin]
        adjusted = adjust([finding.p for finding in family], [finding.alpha for finding in family])
        for finding, p in zip(family, adjusted, strict=True):
            corrected[id(finding)] = replace(finding, ledger_wide=side(p, finding.alpha))
    return {name: [corrected.get(id(f), f) for f in findings] for name, findings in claims.items()}
