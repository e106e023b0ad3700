"""Write the texts of a report that are not about a single verdict: how the claims were tested, the
setting, what a study of combinations found, the registration, and how to cite the report; and print
verdicts in a terminal.
"""

import math
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ablate.config.labels import arm_label, option_label
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import command
from ablate.evidence.types import Run
from ablate.metric import metric_in_words, metric_of
from ablate.phrases import claims_numbered, code, counted, each_of, grouped, interpretation, listed
from ablate.report.marks import MARKS
from ablate.verdict.stored import was_trained
from ablate.verdict.types import INCONCLUSIVE, Combined, Entry, Verdict
from ablate.words.answer import opening, seeds_needed
from ablate.words.reasons import bounds, caveat_text

FIGURES = ("gains", "effects", "combined", "curves")  # the first of them is named
TRAINING = ("steps", "tokens_per_step", "short", "precision")  # not of a probe


def regime(verdict: Verdict) -> str:
    """Return the setting (data, model, training, test, machine) in one line."""
    setting: dict[str, Any] = {**verdict["regime"]}
    for group in {"data", "model"} & setting.keys():
        setting[group] = [option_label(group, name) for name in each_of(setting[group])]
    if isinstance(tested := setting.get("test_sentences"), dict):
        setting["test_sentences"] = [f"{number:,} ({split})" for split, number in tested.items()]
    trained = was_trained(verdict)
    parts = [
        f"{key} {listed([f'{x:,}' if isinstance(x, int) else x for x in each_of(value)])}"
        for key, value in setting.items()
        if value and key != "scale" and (trained or key not in TRAINING)
    ]
    return "; ".join([*parts, *["not trained"] * (not trained and "data" in setting)])


def combined_lines(result: Combined) -> Iterator[str]:
    """Yield paragraphs on noise, interactions and the best recipe."""
    say, (low, high) = metric_of(result["metric"]).say, result["interaction_interval"]
    if result["interaction"] is not None and result["run_deviation"] is not None:
        ends = f"{say(low)} to {say(high)}" if high is not None else "no upper limit"
        yield (
            f"Two runs of a recipe vary by {say(result['run_deviation'])} (standard deviation). "
            f"Recipes vary around the sum of their effects by {say(result['interaction'])} "
            f"(95 % CI {ends}). The sum explains {100 * (result['share'] or 0.0):.0f} % of "
            "the variance between recipes."
        )
    best = result["best"]
    yield (
        f"The best recipe has {arm_label(best['levels'])}. If gains add up, it is better than the "
        f"first levels by {say(best['gain'])} ± {say(best['error'])} (standard error)."
    )
    if missing := [arm_label(level) for level in result["unestimated"]]:
        yield f"Too few runs that learned determine the effect of {listed(missing)}."


def measured(claims: Sequence[Entry]) -> Iterator[str]:
    """Yield sentences on how claims are tested and where they come from; claims with the same
    sentences share them.
    """
    groups: dict[str, list[int]] = {}
    for number, claim in enumerate(claims, 1):
        groups.setdefault(_test(claim), []).append(number)
    for sentences, numbers in groups.items():
        yield f"{claims_numbered(numbers) if len(claims) > 1 else 'Claim'}: {sentences}"


def _test(claim: Entry) -> str:
    """Return sentences on how a claim is tested, and on its source."""
    kind, margin, reason = claim["kind"], claim["margin"], claim.get("margin_reason")
    metric = metric_in_words(claim["metric"], claim.get("measures")).axis.removesuffix(" (count)")
    parts = [kind.replace("_", "-"), f"Measured: {metric}"]
    if margin:
        name = "Needed: at least" if kind == "exact" else "Margin:"
        parts.append(f"{name} {margin:g}{f' ({reason})' if reason else ''}")
    elif kind == "exact":
        parts.append(f"Tolerance: {claim['tolerance']:g}")
    if claim["source"]:
        parts.append(f"Source: {claim['source']}")
    return ". ".join(parts) + "."


def registration(evidence: Evidence, verdict: Verdict) -> str:
    """Return a sentence on when the study was registered, and how often it was changed and judged
    before.
    """
    if not verdict["study_hash"]:
        return "This comparison was not registered before its runs."
    earlier, looks = len(evidence.registration.get("earlier") or []), verdict["looks"]
    after = f", after {counted(earlier, 'earlier version')}" if earlier else ""
    judged = f" The runs had been judged {counted(looks, 'time')} before this verdict."
    return (
        f"The plan of this study (claims, arms, margins and seeds; hash {verdict['study_hash']}) "
        f"was registered at {_registered(verdict) or 'an unknown time'}{after}."
        f"{judged * bool(looks)}"
    )


def _registered(verdict: Verdict) -> str:
    when = verdict.get("registered")
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M UTC}" if when else ""


def citation(verdict: Verdict) -> str:
    """Return the line for citing a report: software, experiment, hash of its study, and date."""
    software = listed(each_of(verdict["versions"].get("ablate", "")), "or")
    name, study = verdict["experiment"], verdict["study_hash"]
    day = _registered(verdict)[:10]
    parts = [f"ablate {software}", f"experiment {name}"]
    parts += [f"study {study}"] * bool(study) + [f"registered {day}"] * bool(day)
    return ", ".join(parts)


def more_seeds(evidence: Evidence, verdict: Verdict) -> str:
    """Return the command that trains the seeds which undecided claims need; "" if no claim needs
    more, if each seed is another recipe (a study of combinations), or if other programs made the
    runs.

    Seeds that are added to the analysed ones would make a verdict exploratory. The command
    therefore trains new seeds alone, unless the verdict is exploratory already.
    """
    undecided = [claim for claim in verdict["claims"] if claim["verdict"] == INCONCLUSIVE]
    needed = max((n for claim in undecided if (n := seeds_needed(claim))), default=0)
    try:
        given = shlex.split(evidence.registration.get("command", ""))[3:]  # after python -m ablate
    except ValueError:  # no command that ablate has written
        given = []
    if not needed or not given or "combined" in verdict:
        return ""
    study, fresh = evidence.study, [f"seed=range({needed})"]
    advice = (
        f"{needed} seeds may decide it. For a verdict that is not exploratory, write the question "
        "as a claim before you train them (docs/howto/claims.md):"
    )
    if not study.get("exploratory"):
        advice = f"{needed} fresh seeds may decide it, judged alone and not exploratory:"
        last = max(run.get("replicate", 0) for run in evidence.runs)
        fresh += [f"budget.seeds={needed}", f"replicate={last + 1}", "contest=true"]
        if planned := study.get("baseline_seeds"):  # in proportion, as the forecast assumes
            further = math.ceil(planned * needed / study["seeds"])
            fresh.append(f"study.baseline_seeds={further}")
    keys = ["-m", *(word.partition("=")[0] for word in fresh)]
    words = [word for word in given if word.partition("=")[0] not in keys]
    return f"{advice}\n\n    {code(command([*words, *fresh], '-m'))}"


def versions(verdict: Verdict) -> str:
    """Return the names and versions of the packages that the runs used, as text."""
    return ", ".join(f"{k} {listed(each_of(v), 'or')}" for k, v in verdict["versions"].items())


def commits(runs: Sequence[Run]) -> str:
    """Return the commits of ablate with which the runs were made, as text."""
    return listed(sorted({run.get("commit", "") for run in runs} - {""})) or "not recorded"


def announce_report(console: Console, evidence: Evidence, verdict: Verdict, folder: Path) -> None:
    """Print all verdicts, the command that would decide those that are undecided, and the paths of
    the report in a folder and of its first picture.
    """
    announce(console, verdict)
    if advice := more_seeds(evidence, verdict):
        console.print(f"\n{advice}", soft_wrap=True)
    console.print(f"\nreport: {folder / 'report.md'}", soft_wrap=True)
    pictures = (folder / f"figures/{name}.svg" for name in FIGURES)
    if picture := next(filter(Path.exists, pictures), None):
        console.print(f"picture: {picture}", soft_wrap=True)


def announce(console: Console, verdict: Any) -> None:
    """Print the verdict of every claim, the setting to which it applies, and all caveats.

    The verdict has the words of `ablate.words.answer.with_words`.
    """
    for claim in verdict["claims"]:
        reading = interpretation(claim, verdict["claims"])
        marks = [f"[{reading}]"] * bool(reading) + ["(exploratory)"] * claim["exploratory"]
        marks += ["(models were still improving)"] * bool(claim.get("learning", {}).get("still"))
        mark = MARKS[claim["verdict"]]
        headline = Text(f"{mark.letter} {claim['headline']}", f"bold {mark.colour}")
        console.print("\n", headline, *(f" {each}" for each in marks), sep="", soft_wrap=True)
        console.print(f"  {claim['evidence']}", soft_wrap=True)
        if short := claim.get("short"):
            when = f"  After {grouped(short['steps'])} steps: {opening(claim, short)}."
            console.print(f"{when} {short['evidence']}", soft_wrap=True)
    for line in combined_lines(verdict["combined"]) if "combined" in verdict else ():
        console.print(f"\n{line}", soft_wrap=True)
    console.print(f"\n{bounds(verdict)}", soft_wrap=True)
    console.print(f"Setting: {regime(verdict)}.", soft_wrap=True)
    for caveat in verdict["caveats"]:
        console.print(f"- {caveat_text(caveat)}", soft_wrap=True)
