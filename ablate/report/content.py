"""Write the texts of a report that are not about a single verdict: how the claims were tested, the
setting, the registration, and how to cite the report.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ablate.config.labels import option_label, texts_of_task
from ablate.config.screen import BASELINE, FACTOR
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Run
from ablate.metric.table import metric_in_words
from ablate.phrases import claims_numbered, counted, each_of, grouped, listed
from ablate.verdict.stored import was_trained
from ablate.verdict.types import Entry, Verdict

# cased BLEU (13a) below which translations of real text are too poor to compare arms
READABLE = 8.0
BUILT_IN = "toy"
PRECISIONS = {"32-true": "float32", "64-true": "float64", "bf16-mixed": "mixed bfloat16"}
SPLITS = {"train": "training", "test_long": "long test"}


def slice_warning(verdict: Verdict) -> str:
    """Return a warning if the models translate real text too badly to compare arms; ""
    otherwise.
    """
    means = [
        (arm["metrics"]["test/bleu"]["mean"], arm["label"])
        for arm in verdict["arms"]
        if "test/bleu" in arm["metrics"]
    ]
    by_bleu = any(claim["metric"].endswith("/bleu") for claim in verdict["claims"])
    if verdict["regime"].get("data") == BUILT_IN or not means or not by_bleu:
        return ""
    bleu, best = max(means)
    if bleu >= READABLE:
        return ""
    return (
        f"This slice of the data decides nothing: the better arm, {best}, reaches {bleu:.2f} BLEU, "
        f"and below {READABLE:g} no difference between arms means much."
    )


def regime(verdict: Verdict) -> str:
    """Return the setting (data, model, training, test, machine) in one line."""
    setting: dict[str, Any] = {**verdict["regime"]}
    if "data" not in setting:  # a table of runs that other programs made
        return f"the runs in {setting['corpus']}"
    corpus = f" ({setting['corpus']})" if "corpus" in setting else ""
    baseline = {FACTOR: BASELINE}  # may have more seeds than the other arms
    arms = [arm for arm in verdict["arms"] if arm["levels"] != baseline] or verdict["arms"]
    seeds = max((arm["seeds"] for arm in arms), default=0)
    trained = was_trained(verdict)
    parts = [
        f"{_options('data', setting)}{corpus}",
        _options("model", setting),
        f"width {listed(each_of(setting['d_model']))}" if "d_model" in setting else "",
        counted(setting["n_layers"], "layer") if "n_layers" in setting else "",
        _training(setting) if trained else "not trained",
        f"{counted(seeds, 'seed')} per arm",
        _tested(setting.get("test_sentences"), texts_of_task(verdict["components"])),
        str(setting.get("device", "")).upper(),
        listed([PRECISIONS.get(x, x) for x in each_of(setting.get("precision", ""))]) * trained,
        counted(setting["threads"], "thread") if "threads" in setting else "",
    ]
    return "; ".join(part for part in parts if part)


def _options(group: str, setting: Mapping[str, Any]) -> str:
    """Return the labels of one or several options of a config group."""
    names = each_of(setting[group]) if group in setting else []
    return listed([option_label(group, name) for name in names])


def _training(setting: Mapping[str, Any]) -> str:
    if "steps" not in setting:
        return ""
    tokens = setting.get("tokens_per_step")
    size = f" of {grouped(tokens)} tokens" if tokens else ""
    short = f", also tested after {grouped(setting['short'])} steps" if "short" in setting else ""
    return f"{grouped(setting['steps'])} optimiser steps{size}{short}"


def _tested(number: Any, texts: str) -> str:
    if not number:
        return ""
    splits = number if isinstance(number, dict) else {"": number}
    counts = [f"{n:,} {SPLITS.get(split, split)} {texts}" for split, n in splits.items()]
    return f"tested on {' '.join(listed(counts).split())}"


def measured(claims: Sequence[Entry]) -> list[str]:
    """Return sentences on how claims are tested and where they come from; claims with the same
    sentences share them.
    """
    groups: dict[str, list[int]] = {}
    for number, claim in enumerate(claims, 1):
        groups.setdefault(_test(claim), []).append(number)
    several = len(claims) > 1
    return [
        f"{claims_numbered(numbers) if several else 'Claim'}: {text}"
        for text, numbers in groups.items()
    ]


def _test(claim: Entry) -> str:
    """Return sentences on how a claim is tested, and on its source."""
    kind, margin = claim["kind"], claim["margin"]
    metric = metric_in_words(claim["metric"], claim.get("measures")).axis.removesuffix(" (count)")
    test = [f"{kind.replace('_', '-')}", f"Measured: {metric}{_direction(claim)}"]
    scope = "for the mean over seeds" if claim["p"] else "in every case"
    reason = f" ({claim['margin_reason']})" if claim.get("margin_reason") else ""
    if kind == "exact":
        least = f"at least {margin:g}{reason}" if margin else f"at most {claim['tolerance']:g}"
        test.append(f"Needed {scope}: {least}")
    elif margin:
        test.append(f"Margin: {margin:g}{reason}")
    return ". ".join([*test, *([f"Source: {claim['source']}"] * bool(claim["source"]))]) + "."


def _direction(claim: Entry) -> str:
    """Return the direction of a claim, with a semicolon before it; "" without a direction."""
    kind, rises = claim["kind"], claim["better"] == "higher"
    if kind in ("exact", "equivalence"):
        return ""
    subject = "the difference is " if claim["minus"] else ""
    if kind == "non_inferiority":
        return f"; claimed: {subject}not {'lower' if rises else 'higher'} by more than the margin"
    if kind == "trend" and not subject:
        return f"; claimed: a {'rise' if rises else 'fall'}"
    return f"; claimed: {subject}{claim['better']}"


def registration(evidence: Evidence, verdict: Verdict) -> str:
    """Return a sentence on when the study was registered, and how often it was changed and judged
    before.
    """
    earlier, looks = len(evidence.registration.get("earlier") or []), verdict["looks"]
    after = f", after {counted(earlier, 'earlier version')}" if earlier else ""
    judged = f" The runs had been judged {counted(looks, 'time')} before this verdict."
    return (
        f"The plan of this study (claims, arms, margins and seeds; hash {verdict['study_hash']}) "
        f"was registered at {_registered(verdict, '%Y-%m-%d %H:%M UTC') or 'an unknown time'}"
        f"{after}.{judged * bool(looks)}"
    )


def _registered(verdict: Verdict, form: str) -> str:
    when = verdict.get("registered")
    return f"{datetime.fromtimestamp(when, UTC):{form}}" if when else ""


def citation(verdict: Verdict) -> str:
    """Return the line for citing a report: software, experiment, hash of its study, and date."""
    software = listed(each_of(verdict["versions"].get("ablate", "")), "or")
    day = _registered(verdict, ", registered %Y-%m-%d")
    return (
        f"ablate {software}, experiment {verdict['experiment']}, study {verdict['study_hash']}{day}"
    )


def versions(verdict: Verdict) -> str:
    """Return the names and versions of the packages that the runs used, as text."""
    by_name = verdict.get("versions") or {}
    return ", ".join(f"{name} {listed(each_of(v), 'or')}" for name, v in by_name.items())


def commits(runs: Sequence[Run]) -> str:
    """Return the commits of ablate with which the runs were made, as text."""
    ended = [run.get("commit", "") for run in runs if "ablate" in run["versions"]]
    missing = f" (not recorded of {ended.count('')} runs)" * ("" in ended)
    return f"{listed(sorted({*ended} - {''}))}{missing}" if any(ended) else "not recorded"
