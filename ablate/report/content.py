"""What a report says, in the order in which it says it; the templates only place it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Entry, Run, Told, Verdict
from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import listed, probability
from ablate.report import tables
from ablate.report.figures import SECTIONS, Figure
from ablate.report.selection import claims
from ablate.verdict.decision import at_each_budget, was_trained
from ablate.verdict.kind import KINDS
from ablate.verdict.replication import RULE, Replication
from ablate.verdict.replication_file import asked_again
from ablate.verdict.wording.layers import bounds, opening

READABLE = 8.0  # cased BLEU (13a) below which translations of real text say nothing of an arm
BUILT_IN = "toy"


def content(
    evidence: Evidence, verdict: Verdict, figures: list[Figure], contest: Sequence[Replication] = ()
) -> dict[str, object]:
    """Everything that the template of a report asks for."""
    again = [asked_again(claim, contest) for claim in verdict["claims"]]
    kinds = dict.fromkeys(claim["kind"] for claim in verdict["claims"])
    return {
        "evidence": evidence,
        "verdict": verdict,
        "warning": slice_warning(verdict),
        "regime": regime(verdict),
        "openings": [opening(claim, claim) for claim in verdict["claims"]],
        "early": [opening(claim, claim.get("short", claim)) for claim in verdict["claims"]],
        "bounds": bounds(verdict),
        "arms": tables.arms(evidence, verdict),
        "effects": tables.effects([*at_each_budget(claims(evidence, verdict))]),
        "margins": tables.other_margins(claims(evidence, verdict)),
        "targets": tables.targets(evidence, verdict),
        "wrong": tables.wrong(evidence),
        "screening": tables.screening(evidence),
        "published": tables.published(evidence, verdict),
        "figures": {
            section: [figure for figure in figures if figure.section == section]
            for section in SECTIONS
        },
        "asked": [asked(claim) for claim in claims(evidence, verdict)],
        "rules": {kind: KINDS[kind].rule for kind in KINDS if kind in kinds},
        "analysis": [analysis(claim) for claim in verdict["claims"]],
        "again": again,
        "again_rule": RULE if any(again) else "",
        "registration": registration(evidence, verdict),
        "versions": versions(verdict),
        "made_by": made_by(evidence.runs),
        "reused": sum(run["reused"] for run in evidence.runs),
    }


def slice_warning(verdict: Verdict) -> str:
    """The sentence that opens a report on real text whose translations are not readable."""
    means = {
        arm["arm"]: arm["metrics"]["test/bleu"]["mean"]
        for arm in verdict["arms"]
        if "test/bleu" in arm["metrics"]
    }
    by_bleu = any(claim["metric"].endswith("/bleu") for claim in verdict["claims"])
    if verdict["regime"].get("data") == BUILT_IN or not means or not by_bleu:
        return ""
    best = max(means, key=lambda arm: means[arm])
    if means[best] >= READABLE:
        return ""
    return (
        f"This slice of the data decides nothing: the better arm, {best}, reaches "
        f"{means[best]:.2f} BLEU, and below {READABLE:g} no difference between arms means much."
    )


def regime(verdict: Verdict) -> str:
    """Data, size, budget, seeds, device and scale, in one line."""
    known: dict[str, Any] = {**verdict["regime"]}
    corpus = f" ({known.pop('corpus')})" if "corpus" in known else ""
    data = f"data {known.pop('data', 'unknown')}{corpus}"
    parts = [f"scale {known.pop('scale', 'unknown')}", data]
    if "model" in known:
        parts.append(f"model {known.pop('model')}")
    if "steps" in known:
        steps, tokens = known.pop("steps"), known.pop("tokens_per_step", None)
        trained = _trained(steps, tokens) if was_trained(verdict) else "not trained"
        parts.append(trained + (f" and {known.pop('short'):,} of them" if "short" in known else ""))
    seeds = max((arm["seeds"] for arm in verdict["arms"]), default=0)
    parts.append(f"{seeds} seed{'s' * (seeds != 1)} per arm")
    if tested := _tested(known.pop("test_sentences", None)):
        parts.append(f"tested on {tested}")
    parts += [f"{key} {value}" for key, value in known.items()]
    return ", ".join(parts)


def _trained(steps: int, tokens: int | str | None) -> str:
    many = f"{tokens:,}" if isinstance(tokens, int) else tokens  # a factor's levels are words
    return f"{steps:,} optimiser steps" + (f" of {many} tokens" if many else "")


def _tested(sentences: Any) -> str:
    if isinstance(sentences, dict):
        return listed([f"{count:,} sentences of {split}" for split, count in sentences.items()])
    return f"{sentences:,} sentences" if sentences else ""


def asked(claim: Told) -> list[str]:
    """How a claim is tested, and where it comes from, as sentences."""
    metric = metric_in_words(claim["metric"], claim.get("measures"))
    said = [f"{claim['kind'].capitalize().replace('_', '-')}, by {metric.axis}; {_better(claim)}."]
    if claim.get("margin"):
        reason = f", because {claim['margin_reason']}" if claim.get("margin_reason") else ""
        said.append(f"Margin {claim['margin']:g}{reason}.")
    return [*said, f"Source: {claim['source']}."]


def _better(claim: Told) -> str:
    if claim["kind"] == "equivalence":
        return "a difference counts on either side"
    if claim["kind"] != "exact":
        return f"{claim['better']} is better"
    away = "at least the margin away from 0"
    if claim["margin"]:
        return away
    below = ", and lower is near enough" if claim["better"] == "lower" else ""
    return f"tolerance {claim['tolerance']:g}{below}"


def analysis(claim: Entry) -> list[str]:
    """How a verdict was reached, as sentences."""
    said = [f"alpha {claim['alpha']:g}", claim.get("method") or ""]
    said.append(f"noise: {claim['levels_of_noise']}")
    for name, found in (("one-sided p", claim["p"]), ("after Holm", claim["p_adjusted"])):
        if found:
            values = (f"{side} {probability(p)}" for side, p in found.items())
            said.append(f"{name}: {', '.join(values)}")
    if (least := claim.get("detectable")) is not None:
        said.append(
            f"{'smallest margin' if KINDS[claim['kind']].needs_margin else 'smallest true effect'} "
            "that this design sees with power .8: "
            f"{metric_of(claim['metric']).say(least)}"
        )
    for side, plan in (claim.get("seeds_needed") or {}).items():
        effect = metric_of(claim["metric"]).say(plan["effect"])
        seeds = plan["seeds"] or "no number"
        said.append(f"seeds for {side} with power .8 at a true effect of {effect}: {seeds}")
    if older := claim.get("older_cells"):
        said.append(f"runs that are older than the study: {older}")
    return [sentence.rstrip(".") for sentence in said if sentence]


def registration(evidence: Evidence, verdict: Verdict) -> str:
    """When the study was written down, and what was seen before."""
    when = verdict.get("registered")
    day = f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M} UTC" if when else "an unknown time"
    earlier = len(evidence.registration.get("earlier") or [])
    after = f", after {earlier} other form{'s' * (earlier > 1)} of it" if earlier else ""
    return (
        f"Study {verdict['study_hash']}, registered at {day}{after}. "
        f"Conclusions drawn from it before this one: {verdict['looks']}."
    )


def versions(verdict: Verdict) -> str:
    """Versions of what the runs executed."""
    found = verdict.get("versions") or {}
    said = (
        f"{name} {listed(version, 'or') if isinstance(version, list) else version}"
        for name, version in found.items()
    )
    return ", ".join(said)


def made_by(runs: Sequence[Run]) -> str:
    """Return the version of ablate and the commits that made the runs, in words."""
    ended = [run for run in runs if "ablate" in run["versions"]]
    version = listed(sorted({run["versions"]["ablate"] for run in ended}), "or")
    commits = sorted({run["commit"] for run in ended if "commit" in run})
    missing = sum("commit" not in run for run in ended)
    if not commits:
        return f"ablate {version or 'of an unknown version'}, commit not recorded"
    rest = f" (not recorded of {missing} runs)" if missing else ""
    return f"ablate {version}, commit{'s' * (len(commits) > 1)} {listed(commits)}{rest}"
