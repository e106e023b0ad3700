"""Read the claims of a catalogue and the verdicts of its experiments, correct the verdicts for
multiple tests, and find evidence that is missing.

The folder `claims` of a catalogue has a row for each claim in claims.csv, and what its authors know
about single claims in YAML files (`read_notes`). Any of these files may be missing.

A study corrects only for its own claims. Among a hundred studies without any true effect, some
verdicts would still be decisive. A family of tests consists of all verdicts that can be wrong by
chance, over claims, experiments and settings: all except exact verdicts. The p-values of the family
are those of each claim alone, and already account for interim analyses. Holm's correction over them
bounds the probability that any verdict of the family is false. A verdict has one p-value for
"supported" and one for "refuted", but is only one member of the family; the smaller p-value
represents it (ablate.stats).
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic.dataclasses import dataclass

from ablate.config.location import SMOKE, catalogue
from ablate.console import track
from ablate.evidence.checks import digest_of_evidence, read_manifest
from ablate.evidence.outcome import needs_no_training
from ablate.evidence.registration import shared_levels
from ablate.phrases import each_of, grouped, listed, name_of, number_of
from ablate.stats import adjust
from ablate.verdict.stored import (
    Replication,
    asked_again,
    at_each_budget,
    is_short,
    read_contest,
    read_verdict,
    was_trained,
)
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SUPPORTED, Entry, Setting, Verdict, side
from ablate.words.answer import deciding_interval, effect_text

VERDICTS = (SUPPORTED, REFUTED, INCONCLUSIVE)
# Config keys whose levels are part of every setting, which names them by the last part of the key
NAMED = ("data", "model", "model.d_model", "model.n_layers", "budget.steps")


@dataclass(frozen=True)
class Claim:
    """A sentence that experiments test, in our words, with the factors to vary and the metric to
    measure.
    """

    id: str
    statement: str
    document: str = ""  # title of the document that makes the claim
    section: str = ""  # separated by semicolons if the claim is made twice
    also_in: str = ""  # "title, section; title, section"
    kind: str = "empirical"  # exact: provable without training; empirical; cost: time or memory
    factors: str = ""  # "factor: level, level; factor: level"
    metric: str = ""
    group: str = ""
    universal: bool = False  # whether the claim allows no exception

    @property
    def factor_names(self) -> list[str]:
        """The factors to vary, without their levels."""
        return [part.partition(":")[0].strip() for part in self.factors.split(";") if part]

    @property
    def documents(self) -> list[str]:
        """The titles of all documents that make the claim."""
        titles = (part.partition(", ")[0] for part in self.also_in.split("; ") if part)
        return [*dict.fromkeys([self.document, *titles])]


def read_claims() -> list[Claim]:
    """Return all claims of the catalogue in the order of its file, where claims of the same group
    follow each other. An empty cell has the default of its field.
    """
    rows: Iterable[dict[str, Any]] = csv.DictReader(io.StringIO(read_text("claims.csv")))
    return [Claim(**{name: cell for name, cell in row.items() if cell}) for row in rows]


@cache
def read_notes(name: str) -> Any:
    """Return the content of a YAML file in the folder `claims`; {} if there is none.

    Args:
        name: name of the file without its ending. "readings" has the possible meanings (readings)
            of ambiguous claims, by claim and reading: where a document states the reading (`at`,
            `says`), or why none does (`remark`). "standings" has, by claim, the reason why no run
            can decide it (`why`), and the kind of this reason (`standing`), such as "definition".
            "real_text" has the reasons why artificial languages do not decide a claim. "unasked"
            has the readings of a claim that have no verdict yet, each with a sentence that says
            what is missing.
    """
    return yaml.safe_load(read_text(f"{name}.yaml")) or {}


def read_text(name: str) -> str:
    """Return the text of a file in the folder `claims` of the catalogue; "" if there is none."""
    folder = catalogue()
    path = folder / "claims" / name if folder else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""


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
    metric: str
    effect: float | None  # None if the verdict has none, for example if an arm never learned
    interval: tuple[float, float] | None
    exploratory: bool
    experiment: str
    data: tuple[str, ...]  # the corpora
    steps: tuple[int, ...]  # optimiser steps, several if arms differ; () if unknown
    registered: float  # unix time of the registration; 0 without one
    reading: str = ""  # the meaning of the claim that was judged; "" if the claim has only one
    folder: Path = Path()
    alpha: float = 0.0
    # p-values of the claim alone, on the scale of alpha, after interim analyses; empty if exact
    p: dict[str, float] = field(default_factory=dict)
    ledger_wide: str = ""  # the verdict after Holm's correction over the ledger; "" if exact
    again: Replication | None = None  # the replication of the verdict with new seeds
    trained: bool = False  # whether the verdict is about trained models
    size: str = ""  # size of the models
    conditions: dict[str, str] = field(default_factory=dict)  # levels of both arms
    components: dict[str, str] = field(default_factory=dict)  # options that all arms share
    device: str = ""
    arms: str = ""  # the compared arms
    change: str = ""  # the effect with its unit and interval, as text; "" if there is none
    margin: float = 0.0  # 0 if the claim has no margin
    reverses: bool = False  # whether a trend changes its direction between neighbouring levels
    # where a document states the judged meaning, or why none does (`remark`)
    asked: dict[str, str] = field(default_factory=dict)

    @property
    def alike(self) -> dict[str, str]:
        """The options and values that both compared arms have, by config key."""
        return self.components | self.conditions

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
        """Whether no document states the judged meaning, so that the verdict says nothing about
        documents.
        """
        return "remark" in self.asked

    @property
    def steps_text(self) -> str:
        """The number of optimiser steps, such as "1,200" or "60 and 600"; "" if unknown."""
        return grouped([*self.steps]) if self.steps else ""


def collect(folder: Path) -> dict[str, list[Finding]]:
    """Return the verdicts on each claim of the experiments in a folder, by the id of the claim.

    Smoke tests, which only show that an experiment runs, are left out.

    Raises:
        UserError: a file is damaged.
    """
    findings, files = list[Finding](), sorted(folder.glob("**/verdict.json"))
    for path in track(files, "reading verdicts", len(files)):
        whole, contest = read_verdict(path), read_contest(path.parent)
        if whole["regime"]["scale"] != SMOKE:
            for claim in at_each_budget(whole["claims"]):
                again = asked_again(claim, contest)
                findings.append(_finding(claim, whole, folder=path.parent, again=again))
    by_claim: dict[str, list[Finding]] = {}
    for finding in sorted(
        with_family(findings),
        key=lambda x: (x.reading, x.experiment, listed([*x.data]), x.size, x.steps_text),
    ):
        by_claim.setdefault(finding.claim, []).append(finding)
    return by_claim


def missing_evidence(folder: Path) -> dict[str, list[str]]:
    """Return a sentence for each claim of each study that was ever saved in a folder, and whose
    verdict or files are missing or were changed, by the id of the claim.

    Raises:
        UserError: the manifest, which lists all saved studies, is damaged.
    """
    missing: dict[str, list[str]] = {}
    for name, study in read_manifest(folder).items():
        there = (folder / name / "verdict.json").exists()
        if there and digest_of_evidence(folder / name) == study["digest"]:
            continue
        for claim, _ in study["claims"]:
            sentence = f"Evidence is missing: files that were kept of {name} are gone or changed."
            missing.setdefault(claim, []).append(sentence)
    return missing


def _finding(claim: Entry, whole: Verdict, **beside: Any) -> Finding:
    """Return a verdict of verdict.json; `beside` has its folder and its replication."""
    reading = read_notes("readings").get(claim["id"], {}).get(claim.get("reading", ""), {})
    conditions = _conditions(claim)
    named = {key.rpartition(".")[2]: conditions.pop(key) for key in NAMED if key in conditions}
    setting = cast(Setting, {**whole["regime"], **named})
    fields: Any = {
        **claim,  # pydantic ignores keys that are no fields
        "claim": claim["id"],
        "p": claim["p_look"],
        "device": setting.get("device", ""),
        "data": each_of(setting["data"]),
        "size": _size(setting),
        "experiment": whole["experiment"],
        "steps": steps_of_claim(claim, whole),
        "registered": whole["registered"],
        "trained": was_trained(whole) and not needs_no_training(claim["metric"]),
        "asked": reading,
        "conditions": conditions,
        "components": whole["components"],
        "arms": _arms(claim),
        "change": _change(claim),
        "reverses": _reverses(claim, whole),
    }
    return Finding(**fields, **beside)


def _change(claim: Entry) -> str:
    """Return the effect of a claim with the interval that decides the claim, as text; "" for an
    exact claim, or for a claim without an effect.
    """
    if claim["kind"] == "exact" or claim["effect"] is None:
        return ""
    return effect_text(claim, claim["effect"], *deciding_interval(claim, claim))


def _reverses(claim: Entry, whole: Verdict) -> bool:
    """Return whether a caveat says that the mean of a trend changes against the claim between two
    neighbouring levels. The caveat is about the long budget.
    """
    number = number_of(whole["claims"])[name_of(claim)]
    about = [x["claims"] for x in whole["caveats"] if x["code"] == "trend_reverses"]
    return not is_short(claim) and any(number in (claims or [number]) for claims in about)


def steps_of_claim(claim: Entry, whole: Verdict) -> tuple[int, ...]:
    """Return the numbers of training steps of a verdict; one, unless arms differ; () if unknown."""
    level = _conditions(claim).get("budget.steps")
    steps = claim.get("steps") or level or whole["regime"].get("steps") or []
    return tuple(map(int, each_of(steps)))


def _conditions(claim: Entry) -> dict[str, str]:
    """Return the levels that both compared arms of a claim have, by config key."""
    shared = claim["where"] | shared_levels(claim)
    return {key: str(shared[key]) for key in sorted(shared)}


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


def with_family(findings: list[Finding]) -> list[Finding]:
    """Return verdicts, each with the verdict after Holm's correction in `ledger_wide`; exact
    verdicts have none.
    """
    family = [finding for finding in findings if finding.p]
    adjusted = adjust([finding.p for finding in family], [finding.alpha for finding in family])
    corrected = iter(side(p, f.alpha) for f, p in zip(family, adjusted, strict=True))
    return [replace(f, ledger_wide=next(corrected)) if f.p else f for f in findings]
