"""Write a sentence for the code of each caveat and of each reason why a claim is undecided.

Caveats are full sentences. Reasons are clauses without a full stop, which other sentences contain.
"""

from collections.abc import Callable, Iterable, Mapping
from string import Formatter
from typing import Any

from ablate.config.labels import arm_label, factor_label, texts_of_task
from ablate.evidence.types import Caveat, Failures, Reason, Values
from ablate.metric.table import metric_in_words, metric_of
from ablate.phrases import claims_numbered, counted, grouped, in_sentence, listed, quoted, ranges
from ablate.stats.false_rates import CLUSTERED, FEW, HIDDEN, SKEWED
from ablate.verdict.stages import FUTILE
from ablate.verdict.study_checks import COUNTED

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
# A template has the values of its code, and the fields that `FIELDS` adds or replaces.
TEMPLATES = {
    # how the study differs from the registered study
    "not_registered": f"The study was not registered before its runs; {EXPLORATORY}.",
    "registration_changed": "The form in registered.json is not the one that was registered (hash "
    f"{{hash}}); {EXPLORATORY}.",
    "registration_missing": f"registered.json is missing (hash {{hash}}); {EXPLORATORY}.",
    "key_removed": f"The key `cannot` was taken from {{claim}}; {EXPLORATORY}.",
    "study_changed": "The study is not the one that was registered (hash {hash}): "
    f"{{changes:changes}}; {EXPLORATORY}.",
    "runs_of_other_study": "{cells:run} began with another version of the study than the "
    "registered version (the lines of runs.jsonl whose `cell` is {cells:ranges}); "
    f"{EXPLORATORY}.",
    # why the claim of a study of combinations is undecided
    "failures_differ": "the two levels failed to learn at different rates, so that the runs that "
    "learned are a selection",
    "not_estimable": "too few runs learned to determine the effect",
    # the study
    "stated": "{text}.",
    "plan_changed": "The plan of the study (claims, arms, margins and seeds) was changed "
    "{times:time} before the present version.",
    "claims_wait": "Of {planned} planned claims, {waiting} have no answer yet, because an arm has "
    "no runs.",
    "best_at_end": "The best {key:key} of those tried ({values:listed}) is {ends}. A better "
    "{key:key} may lie outside this range.",
    "tuned_short": "The {key:key} was tuned in runs of {short:grouped} steps, and reused without "
    "tuning in runs of {steps:grouped} steps, for which another value may be better.",
    "tuned_apart": "In some arms, different seeds chose different values of {key:key}, and the "
    "mean {metric} of the runs with each value differs by more than the margin: {arms}.",
    "matched": "All arms have about as many {by} as the arm with {to:arm}, because these settings "
    "were adjusted: {arms}.",
    "sizes_differ": "The arms differ in trained parameters: {arms}.",
    "busy_machine": "While times were measured, other processes kept up to {cores:.1f} cores "
    "busy. On an idle machine the times would be shorter.",
    # the runs
    "runs_failed": "{cells:run} ended in an error and do not count in any number (`cell` "
    "{cells:listed} of runs.jsonl).",
    "runs_went_wrong": "{after}{runs:run} diverged or collapsed ({arms}). Estimates use only the "
    "runs that learned the task. How often runs fail is a separate question, and so few runs "
    "answer it only roughly.",
    "stopped_early": "The planned interim analyses stopped some arms early: {arms}. Each claim on "
    "these arms was decided by then, or its chance to be decided was below {chance:.0%} %.",
    "seeds_missing": "Of {planned} planned seeds {ended} have finished.",
    "versions_differ": "The runs used different versions of some packages.",
    "code_differs": "Runs of the same arm were made with different code, libraries, initial "
    "weights, data or devices ({arms:arms}). So the differences between these runs are more than "
    "run-to-run variation.",
    "code_unknown": "The runs of an arm come from several sweeps, and do not record whether they "
    "executed the same code.",
    # single claims
    "seeds_unpaired": "Of seed {seeds:listed} a run of the pair, or the metric of a run, is "
    "missing, so the estimate does without it.",
    "failures_left_out": "{arms}. The estimate does without their seeds in every arm.",
    "trend_reverses": "The slope is an average over all levels. From {from:arm} to {to:arm} the "
    "trend reverses: the mean of {metric} {verb} by {change}.",
    "no_spread": "The differences of all {pairs} seeds are exactly equal, so the interval has no "
    "width. Only the number of seeds shows how certain the answer is.",
    "runs_older": "{runs:run} began before the study was registered{end}.",
    "rates_untuned": "The baseline was not trained with the learning rate of the treatment "
    "({rates:listed}), so the answer is exploratory.",
    "noise": "In simulations with {seeds} seeds and {reason}, up to {rate:.1%} % of the answers "
    "were wrong, instead of the {nominal:.1%} % that the test allows "
    "(docs/explanation/calibration.md).",
    "holm": "The answers are corrected for testing {claims} claims at once (Holm). The intervals "
    "are not corrected.",
    "seeds_only": "The intervals include the variation between seeds, but not the variation "
    "between test {task:texts}.",
    "asked_before": "The answer is exploratory, since the question was asked before: "
    "{reason:reason}.",
    "interim": "The answer comes from the planned analysis number {analysis}, after {share:.0%} % "
    "of the seeds. The significance level and the interval are corrected for repeated analyses "
    "(O'Brien-Fleming).",
    "other_settings": "The same question was also asked in {settings:other setting} (another "
    "corpus, model size, number of steps or device).",
    # a table of runs that other programs made
    "table": "Not known of runs from elsewhere: whether the question is older than the runs, "
    "whether runs were dropped before the table was written, how often the question was asked "
    "before, and whether the arms were tuned alike.",
    "source": "{text}",
    "rows": "The table has {rows:,} rows; {runs:,} runs or rows of them count.",
    "no_label": "{empty} of {runs} runs have nothing in {column}, so no arm, dataset or pair "
    "contains them.",
    "twins": "{column}: {names:listed} are one value, but different names here.",
    "unfinished": "{column} is {states:listed} for {runs} of {of} runs, which still count with "
    "their value, unless the key `failed` of a study marks these values.",
    "steps_as_runs": "Most rows differ in {column}, but each row counts as a run. If a run has a "
    "row for each step, the interval is far too narrow: name the columns run and step.",
    "ended_early": "{runs} of {of} runs have their last {column} at an earlier step than the "
    "longest run. If shorter runs were planned, first cut all runs to the same number of steps.",
    "steps_repeated": "{rows} rows repeat the run and the step of another row; the later row "
    "counts. If the rows belong to different runs, give each run its own name.",
    "not_reached": "{runs} runs never reach {value:g}: their last step stands for a later one, so "
    "that their mean is a lower bound.",
    "copies": "{rows} rows repeat another row in every column. They are counted; if they are "
    "copies of one run, the interval is too short.",
    "missing": "{runs} of {of} runs have no finite {column} or are marked as failed; {rule}.",
    "no_level": "{runs} of {of} runs have no finite value of {over}, so the slope leaves them out.",
    "other_columns": "The arms also differ in {columns:listed}: the effect may be theirs.",
    "noise_stated": "The standard deviation of {sd:g} is stated ({source}), not measured.",
    "arm_skewed": "The runs of {arm} are skewed; with few runs, the t test may err more often than "
    "alpha says (docs/howto/referee.md).",
    "arm_constant": "All {runs} runs of {arm} have exactly the same value.",
    "pairs_incomplete": "{pairs:pair} without a value in every arm: not counted.",
    "without_value": "{arms}. The estimate does without them.",
    # how a question was asked before
    "recorded": "{text}",
    "earlier_replication": "{sweep} of {day}, {seeds} seeds, as a replication",
    "earlier_sweep": "{sweep} of {day}, {seeds} seeds: {changes:changes}",
    "same_contrast": "{sweep} of {day}, {seeds} seeds: the same contrast in {metrics:listed}",
    "alpha_spent": "an analysis of the {planned} planned seeds used up the whole significance "
    "level",
    "seeds_left_out": "{seeds:seed} begun or analysed earlier are missing",
    # why a claim is undecided
    "nothing_learned": "nothing was learned: by {metric}, no arm is {better}",
    "arms_not_learned": "the claim compares models that learned the task, but these arms did not: "
    "{arms}",
    "identical": "in every pair of runs, both arms have exactly the same value of {metric}",
    "no_room": "with {baseline}, {metric} is only {room} {limit}, so that these runs cannot show "
    "a difference above {margin:g}",
    "at_ceiling": "both arms are at the ceiling of {metric}, and no arm shows that it could be "
    "lost",
    "too_few_learned": "{pairs} of runs learned the task, and an interval needs {needed} pairs",
    "no_value": "an arm has no run with a value",
    "no_variation": "an arm has too few runs to show run-to-run variation",
    "too_few_levels": "{over} has fewer than two levels that are numbers",
    "no_logarithm": "{over}={level:g} has no logarithm",
    "no_trained_model": "no trained model was measured",
    "still_learning": "an arm may still have been learning",
    "not_confirmed_later": "longer training does not confirm it",
}


def caveat_text(caveat: Caveat) -> str:
    """Return a caveat as a sentence, after the numbers of its claims, such as "Claims 1 and 3:"."""
    subject = f"{claims_numbered(caveat['claims'])}: " if caveat["claims"] else ""
    return f"{subject}{sentence(caveat)}"


def sentence(reason: Reason) -> str:
    """Return the sentence (for a reason: the clause) of a code with its values."""
    code, values = reason["code"], reason["values"]
    added = dict(FIELDS[code](values)) if code in FIELDS else {}
    if "metric" in values:
        added["metric"] = metric_in_words(values["metric"], values.get("measures")).name
    return WORDS.vformat(TEMPLATES[code], (), {**values, **added})


class Words(Formatter):
    """Format the fields of a template; the part of a field after the colon says how.

    Beside Python's formats there are the names in `AS`, and nouns that are counted: `{n:run}` is "1
    run" or "3 runs", for a number or for the length of a list. A proportion with the format `.0%`
    becomes a percentage without its sign.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return the text of a field."""
        if format_spec in AS:
            return AS[format_spec](value)
        if format_spec in NOUNS:
            return counted(len(value) if isinstance(value, list) else value, format_spec)
        text = str(super().format_field(value, format_spec))
        return text.removesuffix("%") if format_spec else text


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
    rates = listed([f"{n} of {m} with {quoted(arm)}" for arm, (n, m) in rest])
    return f"{first}, against {rates}" if rest else first


def _changes(changes: Iterable[Any]) -> str:
    given = ((key, *("not given" if x is None else x for x in both)) for key, *both in changes)
    return listed([f"{key} was {before} and is {now}" for key, before, now in given])


def _ends(v: Values) -> str:
    words = []
    for end in ("largest", "smallest"):
        arms = [
            quoted(arm) + ("" if took == of else f" ({took} of {of} runs)")
            for arm, (took, of) in v[end].items()
        ]
        words += [f"the {end} for {listed(arms)}"] if arms else []
    return "; it is ".join(words)


def _means(v: Values) -> str:
    say = metric_of(v["metric"]).say
    arms = {
        arm: [f"{say(m['mean'])} with {m['value']} in {m['runs']} runs" for m in means]
        for arm, means in v["arms"].items()
    }
    return "; ".join(f"{quoted(arm)} ({listed(means)})" for arm, means in arms.items())


def _sizes(v: Values) -> str:
    pairs = ((*pair["larger"], *pair["smaller"]) for pair in v["arms"])
    return "; ".join(
        f"{more:,} with {quoted(large)} against {less:,} with {quoted(small)} "
        f"({100 * (more / less - 1):.0f} % more)"
        for large, more, small, less in pairs
    )


def _stopped(v: Values) -> str:
    by_seeds: dict[int, list[str]] = {}
    for arm, seeds in v["arms"].items():
        by_seeds.setdefault(seeds, []).append(quoted(arm))
    return ", and ".join(
        f"after {seeds} of {v['planned']} seeds those with {listed(arms)}"
        for seeds, arms in by_seeds.items()
    )


AS: dict[str, Callable[[Any], str]] = {
    "listed": listed,
    "grouped": grouped,
    "ranges": ranges,
    "key": factor_label,
    "arm": lambda levels: quoted(arm_label(levels)),
    "arms": lambda labels: listed([*map(quoted, labels)]),
    "changes": _changes,
    "reason": sentence,
    "texts": lambda task: texts_of_task({"task": task}),
}
NOUNS = ("run", "seed", "pair", "other setting", "time")
WORDS = Words()
FIELDS: dict[str, Callable[[Values], Values]] = {
    "stated": lambda v: {"text": f"{v['text'][:1].upper()}{v['text'][1:]}"},
    "best_at_end": lambda v: {"ends": _ends(v)},
    "tuned_apart": lambda v: {"arms": _means(v)},
    "matched": lambda v: {
        "by": COUNTED[v["by"]],
        "arms": "; ".join(f"{arm_label(x)} with {quoted(arm)}" for arm, x in v["arms"].items()),
    },
    "sizes_differ": lambda v: {"arms": _sizes(v)},
    "runs_went_wrong": lambda v: {
        "after": f"After {grouped(v['steps'])} steps: " if "steps" in v else "",
        "runs": sum(v["arms"].values()),
        "arms": "; ".join(f"{count} with {quoted(arm)}" for arm, count in v["arms"].items()),
    },
    "stopped_early": lambda v: {"arms": _stopped(v), "chance": FUTILE},
    **dict.fromkeys(
        ("failures_left_out", "without_value"), lambda v: {"arms": _failures(v["arms"])}
    ),
    "trend_reverses": lambda v: {
        "verb": "rises" if v["change"] > 0 else "falls",
        "change": metric_of(v["metric"]).say(abs(v["change"])),
    },
    "runs_older": lambda v: {"end": ", so the answer is exploratory" if v["exploratory"] else ""},
    "noise": lambda v: {"reason": NOISE[v["reason"]]},
    "nothing_learned": lambda v: {
        "better": BETTER.get(v["indicator"], "that neither diverged nor collapsed")
    },
    "arms_not_learned": lambda v: {"arms": "; ".join(v["arms"])},
    "no_room": lambda v: {
        "baseline": in_sentence(v["baseline"]),
        "room": metric_of(v["metric"]).say(v["room"]),
        "limit": LIMITS[v["limit"]],
    },
    "too_few_learned": lambda v: {
        "pairs": f"only {counted(v['pairs'], 'pair')}" if v["pairs"] else "no pair"
    },
}
