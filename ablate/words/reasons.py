"""Write a sentence for the code of each caveat and of each reason why a claim is undecided.

Caveats are full sentences. Reasons are clauses without a full stop, which other sentences contain.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ablate.config.labels import arm_label, factor_label, texts_of_task
from ablate.evidence.types import Caveat, Failures, Reason
from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import claims_numbered, counted, grouped, in_sentence, listed, quoted, ranges
from ablate.stats.false_rates import CLUSTERED, FEW, HIDDEN, SKEWED
from ablate.verdict.stages import FUTILE
from ablate.verdict.study_checks import COUNTED

Values = Any  # the values of a reason, by name
Write = Callable[[Values], str]
EXPLORATORY = "its verdicts are therefore exploratory"
FAILED_TO_LEARN = "failed to learn (they diverged or stayed near chance)"
NOISE = {  # the simulations in which the rate of wrong answers was measured
    FEW: "skewed differences",
    SKEWED: "differences as skewed as those measured",
    CLUSTERED: "differences that form two clusters, as here",
    HIDDEN: "rare extreme runs",
}
BETTER = {"nll": "better than the unigram model", "bleu": "better than an untrained model"}
LIMITS = {
    "best": "below the best possible",
    "nothing learned": "above that of a model that learned nothing",
}


def caveat(found: Caveat) -> str:
    """Return a caveat as a sentence, after the numbers of its claims, such as "Claims 1 and 3:"."""
    subject = f"{claims_numbered(found['claims'])}: " if found["claims"] else ""
    return f"{subject}{sentence(found)}"


def sentence(found: Reason) -> str:
    """Return the sentence (for a reason: the clause) of a code with its values."""
    return TEMPLATES[found["code"]](found["values"])


def failures(counts: Mapping[str, Failures]) -> str:
    """Return a clause on how many runs of each arm failed to learn; "" if none did.

    The arm with the most failed runs comes first.
    """
    return _failures({arm: [count["runs"], count["of"]] for arm, count in counts.items()})


def _failures(counts: Mapping[str, list[int]]) -> str:
    arms = sorted(counts.items(), key=lambda item: -item[1][0])
    if not arms or not arms[0][1][0]:
        return ""
    (worst, (runs, of)), *rest = arms
    first = f"{runs} of {of} runs with {quoted(worst)} {FAILED_TO_LEARN}"
    others = listed([f"{n} of {m} with {quoted(arm)}" for arm, (n, m) in rest])
    return f"{first}, against {others}" if others else first


def _verb(number: int, one: str, several: str) -> str:
    return one if number == 1 else several


def _stated(v: Values) -> str:
    return f"{v['text'][:1].upper()}{v['text'][1:]}."


def _changes(changes: Iterable[Any]) -> str:
    words = [f"{key} was {_given(before)} and is {_given(now)}" for key, before, now in changes]
    return listed(words)


def _given(value: Any) -> Any:
    return "not given" if value is None else value


def _earlier(v: Values) -> str:
    return f"{v['sweep']} of {v['day']}, {counted(v['seeds'], 'seed')}"


def _best_at_end(v: Values) -> str:
    name = factor_label(v["key"])
    ends = {
        word: [
            quoted(arm) if took == of else f"{quoted(arm)} ({took} of {of} runs)"
            for arm, (took, of) in v[word].items()
        ]
        for word in ("largest", "smallest")
    }
    extremes = [f"the {word} for {listed(arms)}" for word, arms in ends.items() if arms]
    return (
        f"The best {name} of those tried ({listed(v['values'])}) is {'; it is '.join(extremes)}. A "
        f"better {name} may lie outside this range."
    )


def _tuned_apart(v: Values) -> str:
    metric = metric_of(v["metric"])
    arms = [
        f"{quoted(arm)} ("
        + listed([f"{metric.say(m['mean'])} with {m['value']} in {m['runs']} runs" for m in means])
        + ")"
        for arm, means in v["arms"].items()
    ]
    return (
        f"In some arms, different seeds chose different values of {factor_label(v['key'])}, and "
        f"the mean {metric.name} of the runs with each value differs by more than the margin: "
        f"{'; '.join(arms)}."
    )


def _matched(v: Values) -> str:
    settings = [f"{arm_label(levels)} with {quoted(arm)}" for arm, levels in v["arms"].items()]
    return (
        f"All arms have about as many {COUNTED[v['by']]} as the arm with "
        f"{quoted(arm_label(v['to']))}, because these settings were adjusted: "
        f"{'; '.join(settings)}."
    )


def _sizes_differ(v: Values) -> str:
    sizes = []
    for pair in v["arms"]:
        (large_arm, large), (small_arm, small) = pair["larger"], pair["smaller"]
        sizes.append(
            f"{large:,} with {quoted(large_arm)} against {small:,} with {quoted(small_arm)} "
            f"({100 * (large / small - 1):.0f} % more)"
        )
    return f"The arms differ in trained parameters: {'; '.join(sizes)}."


def _runs_failed(v: Values) -> str:
    runs, cells = len(v["cells"]), listed(v["cells"])
    return (
        f"{counted(runs, 'run')} raised an error and {_verb(runs, 'is', 'are')} left out of all "
        f"numbers ({_verb(runs, 'cell', 'cells')} {cells} of runs.jsonl)."
    )


def _runs_went_wrong(v: Values) -> str:
    after = f"After {grouped(v['steps'])} steps: " if "steps" in v else ""
    arms = "; ".join(f"{count} with {quoted(arm)}" for arm, count in v["arms"].items())
    return (
        f"{after}{counted(sum(v['arms'].values()), 'run')} diverged or collapsed ({arms}). "
        "Estimates use only the runs that learned the task. How often runs fail is a separate "
        "question, and so few runs answer it only roughly."
    )


def _stopped_early(v: Values) -> str:
    by_seeds: dict[int, list[str]] = {}
    for arm, seeds in v["arms"].items():
        by_seeds.setdefault(seeds, []).append(quoted(arm))
    ends = [
        f"after {seeds} of {v['planned']} seeds those with {listed(arms)}"
        for seeds, arms in by_seeds.items()
    ]
    return (
        f"The planned interim analyses stopped some arms early: {', and '.join(ends)}. Each claim "
        "on these arms was decided by then, or its chance to be decided was below "
        f"{100 * FUTILE:.0f} %."
    )


def _trend_reverses(v: Values) -> str:
    metric = metric_in_words(v["metric"], v["measures"])
    return (
        f"The slope is an average over all levels. From {quoted(arm_label(v['from']))} to "
        f"{quoted(arm_label(v['to']))} the trend reverses: the mean of {metric.name} "
        f"{'rises' if v['change'] > 0 else 'falls'} by {metric.say(abs(v['change']))}."
    )


def _noise(v: Values) -> str:
    return (
        f"In simulations with {v['seeds']} seeds and {NOISE[v['reason']]}, up to "
        f"{100 * v['rate']:.1f} % of the answers were wrong, instead of the "
        f"{100 * v['nominal']:.1f} % that the test allows (docs/explanation/calibration.md)."
    )


def _runs_older(v: Values) -> str:
    runs = f"{counted(v['runs'], 'run')} {_verb(v['runs'], 'was', 'were')}"
    end = ", so the answer is exploratory" if v["exploratory"] else ""
    return f"{runs} made before the study was registered{end}."


def _nothing_learned(v: Values) -> str:
    better = BETTER.get(v["indicator"], "that neither diverged nor collapsed")
    name = metric_in_words(v["metric"], v["measures"]).name
    return f"nothing was learned: by {name}, no arm is {better}"


def _no_room(v: Values) -> str:
    metric = metric_of(v["metric"])
    return (
        f"with {in_sentence(v['baseline'])}, {metric.name} is only {metric.say(v['room'])} "
        f"{LIMITS[v['limit']]}, so that these runs cannot show a difference above {v['margin']:g}"
    )


def _too_few_learned(v: Values) -> str:
    pairs = f"only {counted(v['pairs'], 'pair')}" if v["pairs"] else "no pair"
    return f"{pairs} of runs learned the task, and an interval needs {v['needed']} pairs"


def _seeds_unpaired(v: Values) -> str:
    seeds = len(v["seeds"])
    return (
        f"{_verb(seeds, 'Seed', 'Seeds')} {listed(v['seeds'])} {_verb(seeds, 'is', 'are')} left "
        "out, because a run of the pair, or the metric of a run, is missing."
    )


TEMPLATES: dict[str, Write] = {
    # how the study differs from the registered study
    "not_registered": lambda v: f"The study was not registered before its runs; {EXPLORATORY}.",
    "registration_changed": lambda v: (
        f"The form in registered.json is not the one that was registered (hash {v['hash']}); "
        f"{EXPLORATORY}."
    ),
    "registration_missing": lambda v: (
        f"The form in registered.json is not kept (hash {v['hash']}); {EXPLORATORY}."
    ),
    "key_removed": lambda v: f"The key `cannot` was taken from {v['claim']}; {EXPLORATORY}.",
    "study_changed": lambda v: (
        f"The study is not the one that was registered (hash {v['hash']}): "
        f"{_changes(v['changes'])}; {EXPLORATORY}."
    ),
    "runs_of_other_study": lambda v: (
        f"{counted(len(v['cells']), 'run')} began with another version of the study than the "
        f"registered version (the lines of runs.jsonl whose `cell` is {ranges(v['cells'])}); "
        f"{EXPLORATORY}."
    ),
    # the study
    "stated": _stated,
    "plan_changed": lambda v: (
        "The plan of the study (claims, arms, margins and seeds) was changed "
        f"{counted(v['times'], 'time')} before the present version."
    ),
    "claims_wait": lambda v: (
        f"Of {v['planned']} planned claims, {v['waiting']} {_verb(v['waiting'], 'has', 'have')} no "
        f"answer yet: {_verb(v['waiting'], 'it', 'each')} compares an arm that has no runs."
    ),
    "best_at_end": _best_at_end,
    "tuned_short": lambda v: (
        f"The {factor_label(v['key'])} was tuned in runs of {grouped(v['short'])} steps, and "
        f"reused without tuning in runs of {grouped(v['steps'])} steps, for which another value "
        "may be better."
    ),
    "tuned_apart": _tuned_apart,
    "matched": _matched,
    "sizes_differ": _sizes_differ,
    "busy_machine": lambda v: (
        f"While times were measured, other processes kept up to {v['cores']:.1f} cores busy. On an "
        "idle machine the times would be shorter."
    ),
    # the runs
    "runs_failed": _runs_failed,
    "runs_went_wrong": _runs_went_wrong,
    "stopped_early": _stopped_early,
    "seeds_missing": lambda v: f"Of {v['planned']} planned seeds {v['ended']} have finished.",
    "versions_differ": lambda v: "The runs used different versions of some packages.",
    # single claims
    "seeds_unpaired": _seeds_unpaired,
    "failures_left_out": lambda v: (
        f"{_failures(v['arms'])}. The estimate leaves out their seeds in every arm."
    ),
    "trend_reverses": _trend_reverses,
    "no_spread": lambda v: (
        f"The differences of all {v['pairs']} seeds are exactly equal, so the interval has no "
        "width. Only the number of seeds shows how certain the answer is."
    ),
    "runs_older": _runs_older,
    "noise": _noise,
    "holm": lambda v: (
        f"The answers are corrected for testing {v['claims']} claims at once (Holm). The intervals "
        "are not corrected."
    ),
    "seeds_only": lambda v: (
        "The intervals include the variation between seeds, but not the variation between test "
        f"{texts_of_task({'task': v['task']})}."
    ),
    "asked_before": lambda v: (
        f"The answer is exploratory, since the question was asked before: {sentence(v['reason'])}."
    ),
    "interim": lambda v: (
        f"The answer comes from the planned analysis number {v['analysis']}, after "
        f"{100 * v['share']:.0f} % of the seeds. The significance level and the interval are "
        "corrected for repeated analyses (O'Brien-Fleming)."
    ),
    "other_settings": lambda v: (
        f"The same question was also asked in {counted(v['settings'], 'other setting')} (another "
        "corpus, model size, number of steps or device)."
    ),
    # how a question was asked before
    "recorded": lambda v: str(v["text"]),
    "earlier_replication": lambda v: f"{_earlier(v)}, as a replication",
    "earlier_sweep": lambda v: f"{_earlier(v)}: {_changes(v['changes'])}",
    "same_contrast": lambda v: f"{_earlier(v)}: the same contrast in {listed(v['metrics'])}",
    "alpha_spent": lambda v: (
        f"an analysis of the {v['planned']} planned seeds used up the whole significance level"
    ),
    "seeds_left_out": lambda v: (
        f"{counted(v['seeds'], 'seed')} begun or analysed earlier "
        f"{_verb(v['seeds'], 'is', 'are')} missing"
    ),
    # why a claim is undecided
    "nothing_learned": _nothing_learned,
    "arms_not_learned": lambda v: (
        "the claim compares models that learned the task, but these arms did not: "
        f"{'; '.join(v['arms'])}"
    ),
    "identical": lambda v: (
        "in every pair of runs, both arms have exactly the same value of "
        f"{metric_in_words(v['metric'], v['measures']).name}"
    ),
    "no_room": _no_room,
    "at_ceiling": lambda v: (
        f"both arms are at the ceiling of {metric_of(v['metric']).name}, and no arm shows that it "
        "could be lost"
    ),
    "too_few_learned": _too_few_learned,
    "too_few_levels": lambda v: f"{v['over']} has fewer than two levels that are numbers",
    "no_logarithm": lambda v: f"{v['over']}={v['level']:g} has no logarithm",
    "no_trained_model": lambda v: "no trained model was measured",
    "still_learning": lambda v: "an arm may still have been learning",
    "not_confirmed_later": lambda v: "longer training does not confirm it",
}
