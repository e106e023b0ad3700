"""Derive the verdicts of a study from its evidence; the result is deterministic.

With several claims, verdicts use Holm-adjusted p-values (ablate.stats). Intervals are not
adjusted. The p-values and intervals of each claim already account for interim analyses
(ablate.stats.corrections). If the runs are tested at two budgets, each budget has separate
verdicts. Claims of a screen whose variants have no runs yet get no verdict, but count in the
correction.

`study.looks: 3` runs a sweep in three stages and judges after each. A claim is over if it is
decided, or if it is unlikely to be decided: if the conditional power of both decisions, given the
trend so far, is below 10 %. Stopping for a low conditional power is non-binding: alpha is spent as
if no claim stopped for this reason. An arm stops when every claim that uses it is over. An exact
claim (a condition that must hold in every case) keeps no arm running, because it is not decided by
a statistical test that needs more seeds.

If the runs of a study are tested at two budgets, the verdict of a claim is the verdict at the long
budget. The verdict at the short budget is stored under the key `short`. The claim is judged
separately at each budget: the two verdicts share runs, but answer different questions.

Source: Lan, Simon & Halperin 1982, Sequential Analysis 1, 207 (conditional power).
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

from scipy.special import ndtr, ndtri

from ablate.config.labels import use_labels
from ablate.config.study import Levels, Study
from ablate.errors import UserError, name_hint
from ablate.evidence.checks import ABOUT, Registration, check_complete
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import STATUSES, Run, by_label, reason, spread
from ablate.evidence.registration import ENOUGH, departures, planned_looks, split_claims
from ablate.phrases import claim_name, listed
from ablate.stats import at_most
from ablate.stats.corrections import nominal, spent_level
from ablate.verdict.caveats import caveats
from ablate.verdict.floor import FEWEST
from ablate.verdict.judge import Decided, JudgedClaim, decide, judge, make_undecided, older_runs
from ablate.verdict.kind import ClaimResult
from ablate.verdict.kinds import KINDS, kind_of
from ablate.verdict.sides import has, steps_of
from ablate.verdict.types import (
    INCONCLUSIVE,
    REFUTED,
    SUPPORTED,
    Answer,
    Arm,
    Entry,
    Setting,
    Verdict,
)

# Config keys that may be factors, with their names in the setting of a study.
SETTING = {
    **{name: name for name in ("scale", "data", "model", "threads")},
    "model.d_model": "d_model",
    "model.n_layers": "n_layers",
    "batch.tokens": "tokens_per_step",
    "budget.steps": "steps",
    "budget.short": "short",
    "trainer.precision": "precision",
}
# metrics whose means are kept, and shown after those of the claims; the last two are costs
USUAL = ("test/bleu", "test/nll", "test_long/bleu", "measure/microseconds", "measure/bytes")
RULE = 2  # of the error of an effect: docs/explanation/statistics.md; 1 if verdict.json has none
UNREGISTERED = Registration(hash="", time=0.0, earlier=[], looks=0)
LEAST = 4  # smallest number of seeds at the first of several interim analyses
FUTILE = 0.1  # conditional power below which a claim is not continued
# keys of a claim, and the kinds that use them
USES = {
    "loses": tuple(name for name, kind in KINDS.items() if kind.controlled),
    "cannot": ("superiority", "exact"),  # a claim that an arm cannot do something
    "minus": tuple(name for name in KINDS if name not in ("exact", "stability")),
    "predicted": ("equivalence", "superiority"),
}
LAYER = "layer"  # axis of a figure of gradient norms


def conclude(evidence: Evidence) -> Verdict:
    """Return the content of verdict.json without its sentences: a verdict per claim, the arms, and
    all caveats.

    If the study differs from the registered study, every verdict is exploratory. Sentences use the
    labels that the registration stores, and so does the process from then on.

    Raises:
        UserError: the recorded score of a run and its statistics disagree.
    """
    registration = UNREGISTERED | evidence.registration
    use_labels(registration.get("labels", {}))
    plan = (evidence.study, registration, evidence.registered)
    departed = [] if evidence.is_table else departures(*plan, evidence.runs)
    answerable, waiting = split_claims(evidence.runs, evidence.study)
    primary = next(map(claim_name, evidence.study["claims"]), "")
    study = evidence.study | {"claims": answerable}
    evidence = replace(evidence, study=study, registration=registration)
    short = evidence.short
    decided = decide(evidence, waiting)
    early = decide(short, waiting) if short else []
    about = (waiting, primary, bool(departed))
    judged = judge(decided, evidence, *about)
    claims = [each.entry for each in judged]
    if short:
        claims = with_short_budget(judged, judge(early, short, *about), evidence, short)
    continuing = open_arms([*decided, *early], evidence)
    verdict: Verdict = {
        "experiment": evidence.name,
        "rule": RULE,
        "regime": _setting(evidence),
        "components": registration.get("components", {}),
        "study_hash": registration["hash"],
        "registered": registration["time"],
        "looks": registration["looks"],
        "alpha_spent": alpha_spent(decided),
        "versions": versions(evidence.runs),
        "exploratory": any(claim["exploratory"] for claim in claims),
        "runs": len(evidence.runs),
        "failed_runs": sum(run["status"] == "failed" for run in evidence.runs),
        "reused_runs": sum(run["reused"] for run in evidence.runs),
        "older_runs": older_runs(evidence.runs, registration),
        "caveats": caveats(evidence, judged, waiting, departed, continuing),
        "claims": claims,
        "arms": [
            _arm(label, runs, {*USUAL, "parameters", "steps", *(x["metric"] for x in claims)})
            for label, runs in by_label(evidence.runs).items()
        ],
    }
    if evidence.study.get("design"):
        from ablate.verdict.designs import combined_results  # few studies need it

        if results := combined_results(evidence):
            verdict["combined"] = results
    return verdict


def _setting(evidence: Evidence) -> Setting:
    """Return the setting of a study: corpus, model, sizes, budget of steps, device and so on.

    If a factor of the study varies a part of the setting, such as the model size, this part is the
    list of the factor's levels.
    """
    setting: Any = dict(evidence.regime)
    for factor in evidence.study["factors"]:
        name = SETTING.get(factor, "")
        if name in setting and factor.startswith("budget."):
            setting[name] = steps_of(evidence.runs, factor, setting[name])
        elif name in setting:
            levels = [run["levels"][factor] for run in evidence.runs]
            setting[name] = [level for i, level in enumerate(levels) if level not in levels[:i]]
    return cast(Setting, setting)


def alpha_spent(decided: Iterable[Decided]) -> float:
    """Return the largest part of alpha that the analyses so far have spent on any claim.

    An exact claim counts with all of its alpha.
    """
    findings = (each.finding for each in decided)
    parts = (2 * spent_level(f.claim["alpha"] / 2, f.result.looks[-1]) for f in findings)
    return max(parts, default=0.0)


def versions(runs: list[Run]) -> dict[str, str | list[str]]:
    """Return the version of each package that the runs used; a list of versions if runs differ."""
    names = dict.fromkeys(name for run in runs for name in run["versions"])
    by_name = {n: sorted({r["versions"][n] for r in runs if n in r["versions"]}) for n in names}
    return {name: used[0] if len(used) == 1 else used for name, used in by_name.items()}


def _arm(label: str, runs: list[Run], asked: Set[str]) -> Arm:
    """Return the numbers of runs of an arm by status, and the means of the metrics in `asked`.

    All other metrics are in the evidence (runs.jsonl).
    """
    ended = [run for run in runs if run["status"] != "failed"]
    metrics = dict.fromkeys(m for run in ended for m in run["metrics"] if m in asked)
    entry: Any = {
        "arm": runs[0]["arm"],
        "label": label,
        "levels": runs[0]["levels"],
        "seeds": len(ended),
        **{status: sum(run["status"] == status for run in runs) for status in STATUSES},
        "metrics": {metric: x for metric in metrics if (x := spread(ended, metric))},
    }
    return cast(Arm, entry)


def arms_to_continue(evidence: Evidence) -> list[Levels]:
    """Judge a study, and return the levels of the arms that continue after an interim analysis."""
    budgets = [evidence, *([evidence.short] if evidence.short else [])]
    return open_arms((each for budget in budgets for each in decide(budget)), evidence)


def open_arms(decided: Iterable[Decided], evidence: Evidence) -> list[Levels]:
    """Return the levels of the arms of claims that are neither decided nor unlikely to be."""
    arms: list[Levels] = []
    for finding, _, decision in decided:
        if finding.p and decision.status == INCONCLUSIVE and not _futile(finding):
            arms += [arm for arm in _arms(finding, evidence) if arm not in arms]
    return arms


def conditional_power(p: float, share: float, level: float) -> float:
    """Return the probability of a decision with all seeds if the present trend continues.

    Args:
        p: one-sided p-value of the seeds so far.
        share: the seeds so far as a fraction of all seeds.
        level: one-sided level of the last analysis.
    """
    if share >= 1:
        return float(at_most(p, level))
    trend = -float(ndtri(p)) / share**0.5
    return float(ndtr((trend + float(ndtri(level))) / (1 - share) ** 0.5))


def _futile(finding: ClaimResult) -> bool:
    if finding.result.pairs < FEWEST:
        return False  # so few pairs show no trend
    looks, alpha, kind = finding.result.looks, finding.claim["alpha"], kind_of(finding.claim)
    levels = {x: alpha if x in kind.full_alpha else alpha / 2 for x in (SUPPORTED, REFUTED)}
    return all(
        conditional_power(nominal(finding.p[decision], looks), looks[-1], level) < FUTILE
        for decision, level in levels.items()
    )


def _arms(finding: ClaimResult, evidence: Evidence) -> Iterable[Levels]:
    """Return the levels of every run that a claim uses, including its positive control."""
    runs, claim = finding.runs, finding.claim
    if loses := claim.get("loses"):
        arm = claim["where"] | claim["baseline"] | loses
        runs += [run for run in evidence.runs if has(run, arm)]
    return [run["levels"] for run in runs]


def with_short_budget(
    long: Sequence[JudgedClaim], early: Sequence[JudgedClaim], evidence: Evidence, short: Evidence
) -> list[Entry]:
    """Return the claims of verdict.json with their results at the long and at the short budget.

    The result at the short budget (after the short number of training steps) is in the key `short`.
    A supported claim that an arm *cannot* do something becomes undecided there if longer training
    does not confirm the claim: the arm may only have been too slow.

    Args:
        long: the judged claims after the full number of training steps.
        early: the judged claims after the short number of training steps.
        evidence: the runs after the full number of training steps.
        short: the runs after the short number of training steps.
    """
    combined: list[Any] = []
    for late, soon in zip(long, early, strict=True):
        entry, first = late.entry, soon.entry
        if entry["verdict"] != SUPPORTED:
            first = make_undecided(first, reason("not_confirmed_later"))
        answer: Any = {key: x for key, x in first.items() if key in Answer.__annotations__}
        answer["steps"] = steps_of(soon.finding.runs, "budget.short", short.regime["steps"])
        steps = steps_of(late.finding.runs, "budget.steps", evidence.regime["steps"])
        combined.append({**entry, "steps": steps, "short": answer})
    return combined


def load_evidence(folder: Path) -> Evidence:
    """Read the evidence of a study, and check that it is complete and can be judged.

    Raises:
        UserError: a file is missing, damaged or malformed, or was changed after its digest was
            stored in study.json (its seal); runs that the analysis log names are missing; or no
            rule can decide a claim. The message names the file.
    """
    evidence = Evidence.load(folder)
    check_complete(folder, evidence)
    try:
        check_study(evidence.study)
    except UserError as error:
        raise UserError(f"{folder / ABOUT}: {error}") from None
    return evidence


def check_study(study: Study) -> None:
    """Raise UserError for a study with an invalid value, or with a claim that no rule can
    decide.
    """
    for problem in _problems(study):
        raise UserError(f"study{problem}")


def _problems(study: Any) -> Iterator[str]:
    """Yield what is wrong with a study, after the path of the wrong part within the study."""
    factors, seeds = study["factors"], study["seeds"]
    looks = 1 if study.get("looks") is None else study["looks"]
    for key in ("claims", "factors"):
        if not study[key]:
            yield f".{key}=[]: it must not be empty"
    if looks < 1 or (looks > 1 and (seeds < ENOUGH or planned_looks(study)[0] < LEAST)):
        yield (
            f".looks={looks} (number of analyses) with {seeds} seeds: 2 or more need {ENOUGH} "
            f"seeds, and {LEAST} of them at the first analysis"
        )
    for number, figure in enumerate(study.get("figures", []), start=1):
        levels = {figure["over"], *figure["where"]} - {LAYER}
        yield from (f".figures, number {number}{x}" for x in _levels(levels, factors))
    if match := study.get("match"):  # all other arms are matched to one arm
        if not match["to"] or not match["to"].keys() <= {*factors}:
            yield f".match: to={match['to']}; it must give levels of factors: {', '.join(factors)}"
        if (key := match["key"]) in factors:
            yield f".match: {key} is a factor, so it cannot be set by the match; choose another key"
    names = [claim_name(claim) for claim in study["claims"]]
    yield from (f".{problem}" for problem in _of_design(study))
    for claim, name in zip(study["claims"], names, strict=True):
        place = f".claims, {claim['id']}: "
        if names.count(name) > 1:
            reading = claim.get("reading", "")
            yield f"{place}two claims have this id and reading={reading!r}; change one of them"
        yield from (f"{place}{problem}" for problem in _of_claim(claim, factors))


def _of_claim(claim: Any, factors: list[str]) -> Iterator[str]:
    kind, margin = claim["kind"], claim["margin"]
    if not claim["source"]:
        yield "source is empty; name the document and its section, or the paper"
    if margin > 0 and not claim["margin_reason"]:
        yield f"margin={margin} has no margin_reason; state why smaller differences do not matter"
    for part in ("where", "treatment", "baseline", "minus", "loses"):
        yield from (f"{part}{problem}" for problem in _levels(claim.get(part, {}), factors))
    yield from _together(claim)
    for key, kinds in USES.items():
        if claim.get(key) and kind not in kinds:
            which = f"the key `{key}`, which is for {listed([*kinds])}"
            yield f"kind={kind} does not use {which}: remove it"
    yield from kind_of(claim).problems(claim, factors)


def _of_design(study: Any) -> Iterator[str]:
    """Yield what is wrong with a study of combinations, whose claims compare two levels of a
    factor, over all recipes.
    """
    if not study.get("design"):
        return
    yield from (
        f"{key} has no meaning for design=combinations; remove it"
        for key in ("tune", "match", "screen")
        if study.get(key)
    )
    for claim in study["claims"]:
        keys = [key for key in ("where", "minus", "over", "loses") if claim.get(key)]
        factors = {*claim["treatment"], *claim["baseline"]}
        compares = len(factors) == 1 and factors <= {*study["levels"]}
        if keys or not compares or claim["kind"] in ("exact", "trend"):
            yield (
                f"claims, {claim['id']}: with design=combinations a claim compares two levels of "
                f"one of {', '.join(study['levels'])} over all recipes; it is no trend, not exact, "
                "and has no where, minus, over or loses"
            )


def _levels(levels: Iterable[str], factors: list[str]) -> Iterator[str]:
    """Yield what is wrong with the factors of some levels."""
    for key in levels:
        if key not in factors:
            yield f" names {key}, which is not a factor of the study; {name_hint(key, factors)}"


def _together(claim: Any) -> Iterator[str]:
    """Yield the contradictions between levels that apply to the same run."""
    arms = {name: claim[name] for name in ("treatment", "baseline")}
    arms["over"] = {claim["over"]: "every level"} if claim["over"] else {}
    for part, (other, levels) in product(("where", "minus"), arms.items()):
        for key in claim[part].keys() & levels.keys():
            if claim[part][key] != levels[key]:
                yield (
                    f"{part} has {key}={claim[part][key]}, but {other} has {key}={levels[key]}; "
                    "remove the level from one of them"
                )
