"""Collect the texts and tables of a report; templates arrange them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ablate.config.labels import Title, experiment_title, option_label, texts_of_task
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Entry, Run, Verdict
from ablate.metric.table import Metric, metric_in_words, metric_of
from ablate.phrases import claims_numbered, counted, each_of, grouped, interpretation, listed
from ablate.report import combined, tables
from ablate.verdict.decision import was_trained
from ablate.verdict.kind import KINDS
from ablate.verdict.replication import RULE, Replication, asked_again
from ablate.words.answer import bounds, effect_text, evidence_line, opening
from ablate.words.reasons import caveat_text

# cased BLEU (13a) below which translations of real text are too poor to compare arms
READABLE = 8.0
BUILT_IN = "toy"
PRECISIONS = {"32-true": "float32", "64-true": "float64", "bf16-mixed": "mixed bfloat16"}
SPLITS = {"train": "training", "test_long": "long test"}
DOCUMENT = " (document and section)"  # explains a source that begins with the title of a tutorial


def title_of(evidence: Evidence) -> Title:
    """Return the title and the purpose of the experiment; "" for each that nobody has written."""
    return experiment_title(evidence.name, evidence.registration.get("labels"))


def content(
    evidence: Evidence,
    verdict: Verdict,
    figures: Mapping[str, Sequence[object]],
    contest: Sequence[Replication] = (),
) -> dict[str, object]:
    """Return the variables of the report's template, by name.

    Args:
        evidence: runs and study of the experiment.
        verdict: the verdict on the claims.
        figures: the figures of the report, by section.
        contest: replications of the experiment with new seeds.
    """
    whole = verdict.get("combined")
    every, kinds = verdict["claims"], {claim["kind"] for claim in verdict["claims"]}
    again = [asked_again(claim, contest) for claim in every]
    return {
        "evidence": evidence,
        "title": title_of(evidence),
        "verdict": verdict,
        "warning": slice_warning(verdict),
        "regime": regime(verdict),
        "openings": [opening(claim, claim) for claim in every],
        "evidence_lines": [evidence_line(claim, claim) for claim in every],
        "caveats": [caveat_text(caveat) for caveat in verdict["caveats"]],
        "interpretations": [interpretation(claim, every) for claim in every],
        "early": [opening(claim, claim.get("short", claim)) for claim in every],
        "early_lines": [evidence_line(claim, claim.get("short", claim)) for claim in every],
        "bounds": bounds(verdict),
        "tables": tables.comparable(evidence, verdict),
        "fields": [*zip(tables.titles(every), map(tables.fields_of, every), strict=True)],
        "wrong": None if evidence.is_table else tables.wrong(evidence),
        "failed_to_learn": any(
            arm["runs"] for claim in every for arm in claim.get("failed_to_learn", {}).values()
        ),
        "tuned_by": metric_of(tune["metric"]).name if (tune := evidence.study.get("tune")) else "",
        "screening": tables.screening(evidence),
        "figures": figures,
        "combined": combined.sentences(whole) if whole else [],
        "measured": measured(every),
        "sources": sources(every),
        "rules": {kind: KINDS[kind].rule for kind in KINDS if kind in kinds},
        "again": again,
        "again_lines": [_fresh(*each) for each in zip(every, again, strict=True)],
        "again_rule": RULE if any(again) else "",
        "registration": "" if evidence.is_table else registration(evidence, verdict),
        "versions": versions(verdict),
        "citation": citation(verdict),
        "made_by": made_by(evidence.runs),
        "reused": sum(run["reused"] for run in evidence.runs),
    }


def _fresh(claim: Entry, again: Replication | None) -> str:
    """Return the effect of a claim on new seeds, with its interval; "" without a replication."""
    fresh = again and again["fresh"]
    if not fresh or fresh["effect"] is None:
        return ""
    return f"{effect_text(claim, fresh['effect'], fresh['interval'], 1 - claim['alpha'])}."


def slice_warning(verdict: Verdict) -> str:
    """Return a warning if the models translate real text too badly to compare arms; ""
    otherwise.
    """
    means = {
        arm["label"]: arm["metrics"]["test/bleu"]["mean"]
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
    """Return the setting (data, model, training, test, machine) in one line."""
    setting: dict[str, Any] = {**verdict["regime"]}
    if "data" not in setting:  # a table of runs that other programs made
        return f"the runs in {setting['corpus']}"
    corpus = f" ({setting['corpus']})" if "corpus" in setting else ""
    seeds = max((arm["seeds"] for arm in verdict["arms"]), default=0)
    trained = was_trained(verdict)
    parts = [
        f"{_options('data', setting['data'])}{corpus}",
        _model(setting),
        _training(setting) if trained else "not trained",
        f"{counted(seeds, 'seed')} per arm",
        _tested(setting.get("test_sentences"), texts_of_task(verdict["components"])),
        _machine(setting, trained),
    ]
    return "; ".join(part for part in parts if part)


def _options(group: str, names: str | list[str]) -> str:
    """Return the labels of one or several options of a config group."""
    return listed([option_label(group, name) for name in each_of(names)])


def _model(setting: dict[str, Any]) -> str:
    size = [f"width {listed(each_of(setting['d_model']))}"] if "d_model" in setting else []
    size += [counted(setting["n_layers"], "layer")] if "n_layers" in setting else []
    name = _options("model", setting["model"]) if "model" in setting else ""
    return f"{name} ({'; '.join(size)})" if name and size else name or "; ".join(size)


def _training(setting: dict[str, Any]) -> str:
    if "steps" not in setting:
        return ""
    tokens = setting.get("tokens_per_step")
    trained = f"{grouped(setting['steps'])} optimiser steps"
    trained += f" of {grouped(tokens)} tokens" if tokens else ""
    if "short" not in setting:
        return trained
    return f"{trained}, also evaluated after {grouped(setting['short'])} steps"


def _machine(setting: dict[str, Any], trained: bool) -> str:
    """Return device, number format of training, and number of threads as text."""
    threads = counted(setting["threads"], "thread") if "threads" in setting else ""
    names = each_of(setting.get("precision", ""))
    precision = listed([PRECISIONS.get(name, name) for name in names]) if trained else ""
    parts = [str(setting.get("device", "")).upper(), precision, threads]
    return ", ".join(part for part in parts if part)


def _tested(number: Any, texts: str) -> str:
    if isinstance(number, dict):
        counts = [f"{n:,} {SPLITS.get(split, split)} {texts}" for split, n in number.items()]
        return f"tested on {listed(counts)}" if counts else ""
    return f"tested on {number:,} {texts}" if number else ""


def measured(claims: Sequence[Entry]) -> list[str]:
    """Return sentences on how the claims are tested; claims with the same test share a sentence."""
    groups = _grouped(claims, _test)
    return [f"{names}: {test}" if names else f"Claim: {test}" for names, test in groups]


def sources(claims: Sequence[Entry]) -> list[str]:
    """Return sentences on where the claims come from; claims with the same source share a
    sentence.
    """
    grouped = _grouped(claims, lambda claim: claim["source"])
    return [
        f"Source{f' of {names.lower()}' * bool(names)}{DOCUMENT * text[:1].isupper()}: {text}."
        for names, text in grouped
        if text
    ]


def _grouped(claims: Sequence[Entry], say: Callable[[Entry], str]) -> list[tuple[str, str]]:
    """Return the distinct sentences about claims, each with the claims it is about ("Claims 1 and
    3").

    `say` returns the sentence about a claim. If there is only one claim, its number is left out.
    """
    groups: dict[str, list[int]] = {}
    for number, claim in enumerate(claims, 1):
        groups.setdefault(say(claim), []).append(number)
    several = len(claims) > 1
    return [(claims_numbered(numbers) * several, text) for text, numbers in groups.items()]


def _test(claim: Entry) -> str:
    """Return sentences on how a claim is tested."""
    metric = metric_in_words(claim["metric"], claim.get("measures"))
    exact = claim["kind"] == "exact"
    kind = claim["kind"].replace("_", "-")
    if exact:
        kind += f" (must hold {'for the mean over seeds' if claim.get('p') else 'in every case'})"
    test = f"{kind}. Measured: {_quantity(metric)}{_condition(claim)}."
    if not claim["margin"]:
        return test
    needed = "Needed: at least" if exact else "Margin:"
    reason = f" ({claim['margin_reason']})" if claim.get("margin_reason") else ""
    return f"{test} {needed} {claim['margin']:g}{reason}."


def _quantity(metric: Metric) -> str:
    """Return the name of a metric as part of a sentence, with its unit unless it is a count."""
    if metric.unit == "points":
        return f"{metric.name} in points"
    return metric.name if metric.unit == "count" else metric.axis


def _condition(claim: Entry) -> str:
    """Return what a claim says about its metric, with a semicolon before it; it may be ""."""
    if claim["kind"] == "equivalence":
        return ""
    if claim["kind"] == "trend":
        expected = f"the claim expects a {'rise' if claim['better'] == 'higher' else 'fall'}"
        difference = f"the difference between two slopes is claimed to be {claim['better']}"
        return f"; {difference if claim['minus'] else expected}"
    if claim["kind"] != "exact":
        subject = "the difference between the arms is " if claim["minus"] else ""
        if claim["kind"] == "non_inferiority":
            worse = "lower" if claim["better"] == "higher" else "higher"
            return f"; {subject}claimed not to be {worse} in the first arm by more than the margin"
        where = "" if claim["minus"] else " in the first arm"
        return f"; {subject}claimed to be {claim['better']}{where}"
    if claim["margin"]:
        return ""
    tolerance = claim["tolerance"]
    return f"; at most {tolerance:g} is allowed" if tolerance else "; it must be 0"


def registration(evidence: Evidence, verdict: Verdict) -> str:
    """Return a sentence on when the study was registered, and how often it was changed and judged
    before.
    """
    when = verdict.get("registered")
    day = f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M} UTC" if when else "an unknown time"
    earlier = len(evidence.registration.get("earlier") or [])
    after = f", after {earlier} earlier version{'s' * (earlier > 1)}" if earlier else ""
    looks = verdict["looks"]
    times = f"{looks} time{'s' * (looks > 1)}"
    judged = f" The runs had been judged {times} before this verdict." if looks else ""
    return (
        f"The plan of this study (claims, arms, margins and seeds; hash {verdict['study_hash']}) "
        f"was registered at {day}{after}.{judged}"
    )


def citation(verdict: Verdict) -> str:
    """Return the line for citing a report: software, experiment, hash of its study, and date."""
    software = _versions({"ablate": verdict["versions"].get("ablate", "")}).strip()
    when = verdict.get("registered")
    day = f", registered {datetime.fromtimestamp(when, UTC):%Y-%m-%d}" if when else ""
    return f"{software}, experiment {verdict['experiment']}, study {verdict['study_hash']}{day}"


def versions(verdict: Verdict) -> str:
    """Return the names and versions of the packages that the runs used, as text."""
    return _versions(verdict.get("versions") or {})


def _versions(by_name: Mapping[str, Any]) -> str:
    named = ((name, v if isinstance(v, list) else [v]) for name, v in by_name.items())
    return ", ".join(f"{name} {listed(versions, 'or')}" for name, versions in named)


def made_by(runs: Sequence[Run]) -> str:
    """Return the version of ablate and the commits with which the runs were made, as text."""
    ended = [run for run in runs if "ablate" in run["versions"]]
    version = listed(sorted({run["versions"]["ablate"] for run in ended}), "or")
    commits = sorted({run["commit"] for run in ended if "commit" in run})
    missing = sum("commit" not in run for run in ended)
    if not commits:
        return f"ablate {version or 'of an unknown version'}, commit not recorded"
    rest = f" (not recorded of {missing} runs)" if missing else ""
    return f"ablate {version}, commit{'s' * (len(commits) > 1)} {listed(commits)}{rest}"
