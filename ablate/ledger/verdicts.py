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
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pydantic
import yaml

from ablate.config import SMOKE, catalogue_root
from ablate.config.labels import option_label
from ablate.errors import track
from ablate.evidence.checks import digest_of_evidence, read_manifest
from ablate.evidence.outcome import needs_no_training
from ablate.evidence.registration import shared_levels
from ablate.phrases import claim_name, each_of, grouped, listed, number_of
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
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SUPPORTED, Entry, Verdict, status_of

# Config keys whose levels are parts of every setting, in which the last part of the key names them
NAMED = ("data", "model", "model.d_model", "model.n_layers", "budget.steps")


@pydantic.dataclasses.dataclass(frozen=True)
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


def read_claims() -> list[Claim]:
    """Return all claims of the catalogue in the order of its file, but all claims of a group
    together. An empty cell has the default of its field.
    """
    rows: Iterable[dict[str, Any]] = csv.DictReader(io.StringIO(read_text("claims.csv")))
    claims = [Claim(**{name: cell for name, cell in row.items() if cell}) for row in rows]
    groups = [claim.group for claim in claims]
    return sorted(claims, key=lambda claim: groups.index(claim.group))


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
    folder = catalogue_root()
    path = folder / "claims" / name if folder else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""


@dataclass(frozen=True)
class Finding:
    """The verdict of an experiment on a claim, after one number of training steps.

    Args:
        answer: the claim in verdict.json, with its result after this number of steps.
        experiment: name of the experiment.
        folder: folder of its evidence.
        data: the corpora.
        steps: optimiser steps, several if arms differ; () if unknown.
        trained: whether the verdict is about trained models.
        setting: kind of the claim, size of the models, device, metric and compared arms.
        components: options that all arms of the experiment share, by config group.
        conditions: further options and values that both compared arms have, by config key.
        reverses: whether a trend changes its direction between neighbouring levels.
        replication: the replication of the verdict with new seeds.
        asked: where a document states the judged meaning, or why none does (`remark`).
        corrected: the verdict after Holm's correction over the ledger; "" if exact.
    """

    answer: Entry
    experiment: str
    folder: Path = Path()
    data: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    trained: bool = False
    setting: dict[str, str] = field(default_factory=dict)
    components: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, str] = field(default_factory=dict)
    reverses: bool = False
    replication: Replication | None = None
    asked: dict[str, str] = field(default_factory=dict)
    corrected: str = ""

    @property
    def verdict(self) -> str:
        """The status of the claim: supported, refuted or inconclusive."""
        return self.answer["verdict"]

    @property
    def reading(self) -> str:
        """The meaning of the claim that was judged; "" if the claim has only one."""
        return self.answer.get("reading", "")

    @property
    def is_unstated(self) -> bool:
        """Whether no document states the judged interpretation of the claim, so that the verdict
        does not judge a document.
        """
        return "remark" in self.asked

    @property
    def place(self) -> str:
        """The corpora and the number of training steps as text; "" without training."""
        if not self.trained:
            return ""
        corpora = listed([option_label("data", corpus) for corpus in self.data])
        return f"{corpora}, {grouped([*self.steps])} steps" if self.steps else corpora

    @property
    def tested_results(self) -> list[Entry]:
        """The results that enter the correction for multiple tests: the original result and, if
        there is a confirmatory replication, its result on new seeds.

        Replications that earlier versions of the program stored have no p-value. Such a result
        gets the p-value 1, so that it cannot decide a claim.
        """
        if not self.replication or self.replication["exploratory"]:
            return [self.answer]
        fresh: Any = self.replication["fresh"]
        p = fresh.get("p", {SUPPORTED: 1.0, REFUTED: 1.0, INCONCLUSIVE: 1.0})
        p_look = p if self.answer["p_look"] else {}
        return [self.answer, cast(Entry, {**self.answer, **fresh, "p_look": p_look})]


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
            for answer in at_each_budget(whole["claims"]):
                replication = asked_again(answer, contest)
                findings.append(_finding(answer, whole, path.parent, replication))
    findings.sort(key=lambda x: (x.reading, x.experiment, x.data, x.setting["size"], x.steps))
    alphas = [finding.answer["alpha"] for finding in findings]
    adjusted = adjust([finding.answer["p_look"] for finding in findings], alphas)
    by_claim: dict[str, list[Finding]] = {}
    for finding, p, alpha in zip(findings, adjusted, alphas, strict=True):
        corrected = status_of(p, alpha) if p else ""
        by_claim.setdefault(finding.answer["id"], []).append(replace(finding, corrected=corrected))
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


def _finding(answer: Entry, whole: Verdict, folder: Path, new_seeds: Replication | None) -> Finding:
    """Return a verdict of verdict.json in its setting, in which the levels of both compared arms
    replace those of the whole study.
    """
    shared = answer["where"] | shared_levels(answer)
    conditions = {key: str(shared[key]) for key in sorted(shared)}
    named = {key.rpartition(".")[2]: conditions.pop(key) for key in NAMED if key in conditions}
    regime: dict[str, Any] = {**whole["regime"], **named}
    return Finding(
        answer=answer,
        experiment=whole["experiment"],
        folder=folder,
        data=(*each_of(regime["data"]),),
        steps=(*map(int, each_of(answer.get("steps") or regime.get("steps", []))),),
        trained=was_trained(whole) and not needs_no_training(answer["metric"]),
        setting={
            "kind": answer["kind"],
            "size": f"{regime['model']}, {regime.get('d_model')}, {regime.get('n_layers')}",
            "device": regime.get("device", ""),
            "arms": f"{answer['arms'] or answer['over']}, {answer['minus']}",
            "metric": answer["metric"],
        },
        components=whole["components"],
        conditions=conditions,
        reverses=_reverses(answer, whole),
        replication=new_seeds,
        asked=read_notes("readings").get(answer["id"], {}).get(answer.get("reading", ""), {}),
    )


def _reverses(answer: Entry, whole: Verdict) -> bool:
    """Return whether a caveat says that the mean of a trend changes against the claim between two
    neighbouring levels. The caveat is about the long budget.
    """
    number = number_of(whole["claims"])[claim_name(answer)]
    about = [x["claims"] for x in whole["caveats"] if x["code"] == "trend_reverses"]
    return not is_short(answer) and any(number in (claims or [number]) for claims in about)
