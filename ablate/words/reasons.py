"""Write a sentence for the code of each caveat and of each reason why a claim is undecided; and
texts on a whole verdict: its limits, its setting, its registration, and how to cite it.

Caveats are full sentences. Reasons are clauses without a full stop, which other sentences contain.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from string import Formatter
from typing import TYPE_CHECKING, Any

from ablate.config.labels import arm_label, factor_label, option_label, texts_of_task
from ablate.evidence.outcome import Caveat, Reason, Run
from ablate.metric import metric_in_words
from ablate.phrases import claims_numbered, counted, each_of, grouped, in_sentence, listed, quoted
from ablate.verdict.stored import was_trained
from ablate.verdict.types import Failures, Verdict

if TYPE_CHECKING:  # numpy, for which the first line of a command would wait
    from ablate.evidence.folder import Evidence

EXPLORATORY = "its verdicts are therefore exploratory"
FAILED_TO_LEARN = "failed to learn (diverged, by the claim's metric near chance, or on a plateau)"
BOUNDS = {
    "table": "Computed from the runs in {corpus}. Other data and models may differ.",
    "untrained": "Computed without training; it holds for models of any quality.",
    "trained": "Measured with models of {size} on {data}, {steps} steps. Larger models and other "
    "text may differ.",
}
TRAINING = ("steps", "tokens_per_step", "short", "precision")  # not of a probe
TEMPLATES = {  # `Words` formats the values of a code
    # how the study differs from the registered study
    "not_registered": f"The question was not registered before the runs; {EXPLORATORY}.",
    "registration_changed": "The form in registered.json is not the one that was registered (hash "
    f"{{hash}}); {EXPLORATORY}.",
    "registration_missing": f"registered.json is missing (hash {{hash}}); {EXPLORATORY}.",
    "key_removed": f'The key "cannot" was taken from {{claim}}; {EXPLORATORY}.',
    "study_changed": "The study is not the one that was registered (hash {hash}): "
    f"{{changes:changes}}; {EXPLORATORY}.",
    "runs_of_other_study": "{cells:run} began with another version of the study than the "
    f"registered version (cell {{cells:listed}} of runs.jsonl); {EXPLORATORY}.",
    # the study
    "stated": "{text}.",
    "plan_changed": "The plan of the study was changed {times:time} before the present version.",
    "claims_wait": "Of {planned} planned claims, {waiting} wait for the runs of an arm.",
    "best_at_end": "The best of the tried values of the {key:key} ({values:listed}) is the largest "
    "in {largest:each}, and the smallest in {smallest:each}. A better one may lie outside.",
    "tuned_once": "In each arm, the runs of all {seeds} seeds have the {key:key} that was best in "
    "tuning runs with {tuning:seed}, and no interval includes the uncertainty of this choice. In "
    "simulations, up to {rate:.0%} of comparisons of equal arms are then significant instead of "
    "5 % (docs/explanation/calibration.md).",
    "tuned_short": "The {key:key} was tuned in runs of {short:grouped} steps, and reused without "
    "tuning in runs of {steps:grouped} steps, for which another value may be better.",
    "not_tuned": "The learning rate ({rates:listed}) was not tuned, so an arm may be better at "
    'another one. The key "tune" of a study finds the best rate of each arm.',
    "matched": "All arms have about as many {by} as the arm with {to:arm}, because these "
    "settings were adjusted: {arms:each}.",
    "sizes_differ": "The arms differ in trained parameters: {arms:each}.",
    "busy_machine": "While times were measured, others kept up to {cores:.1f} cores busy.",
    # the runs
    "runs_failed": "{cells:run} ended in an error and do not count (cell {cells:listed}).",
    "trained_short": "Some runs stopped before the planned number of steps, for example by early "
    "stopping. Steps of the shortest run of each arm: {arms:each}.",
    "runs_went_wrong": "{arms:total} diverged or collapsed ({arms:each}). Estimates use only the "
    "runs that learned the task.",
    "short_runs_went_wrong": "After {steps:grouped} steps, {arms:total} had diverged or collapsed "
    "({arms:each}). Estimates use only the runs that learned the task.",
    "stopped_early": "The planned interim analyses stopped some arms before {planned} seeds: "
    "{arms:each}. By then, each claim on these arms was decided, or unlikely to be decided.",
    "seeds_missing": "Of {planned} planned seeds {ended} have finished.",
    "versions_differ": "The runs used different versions of {packages:listed}.",
    "code_differs": "Runs of the same arm had different code, libraries, initial weights, data or "
    "devices ({arms:listed}), so they differ by more than run-to-run variation.",
    "processors_differ": "The arms differ in the proportion of runs on {processor}: {arms:each}. A "
    "part of the effect may be that of the processor.",
    "effect_by_processor": "The effect depends on the processor ({effects:each}; F test, "
    "p = {p:.2g}), so that the interval may be too short.",
    "code_unknown": "Runs of an arm come from several sweeps that do not record their code.",
    # single claims
    "seeds_unpaired": "Of seed {seeds:listed}, a run or its metric is missing: not counted.",
    "failures_left_out": "Some runs {arms:failed}. The estimate does without their seeds.",
    "trend_reverses": "The slope is an average over all levels. From {from:arm} to {to:arm} the "
    "trend reverses: the mean of {metric} changes by {change:+.3g}.",
    "no_spread": "The differences of all {pairs} seeds are exactly equal, so the interval has no "
    "width. Only the number of seeds shows how certain the answer is.",
    "runs_older": "{runs:run} began before this form of the study was registered{exploratory:so}.",
    "loss_not_shown": "These runs may be unable to show a loss: the baseline with {control} should "
    "lose more than the margin, but the interval is {low:+.3g} to {high:+.3g}.",
    "rates_untuned": "The baseline was not trained with the learning rate of the treatment "
    "({rates:listed}), so the answer is exploratory.",
    "noise": "With {seeds} seeds, up to {rate:.1%} of such answers are wrong in simulations, not "
    "{nominal:.1%} as intended. The reason: {reason} (docs/explanation/statistics.md).",
    "holm": "The answers (not the intervals) are corrected for testing {claims} claims (Holm).",
    "seeds_only": "The intervals do not include the variation between test {task:texts}.",
    "asked_before": "Exploratory, since the question was asked before: {reason:reason}.",
    "interim": "The answer comes from planned analysis {analysis}, after {share:.0%} of the seeds. "
    "Alpha and the interval are corrected for repeated analyses (O'Brien-Fleming).",
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
    'their value, unless the key "failed" of a study marks these values.',
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
    "arm_skewed": "The runs of {arm} are skewed; with few runs, the t test may err more often than "
    "alpha says (docs/howto/referee.md).",
    "arm_constant": "All {runs} runs of {arm} have exactly the same value.",
    "pairs_incomplete": "{pairs:pair} without a value in every arm: not counted.",
    "without_value": "Some runs {arms:failed}. The estimate does without them.",
    # how a question was asked before
    "recorded": "{text}",
    "earlier_replication": "{sweep} of {day}, {seeds} seeds, as a replication",
    "earlier_sweep": "{sweep} of {day}, {seeds} seeds: {changes:changes}",
    "alpha_spent": "an analysis of the {planned} planned seeds used up all of alpha",
    "seeds_left_out": "{seeds:seed} begun or analysed earlier are missing",
    # why a claim is undecided
    "nothing_learned": "nothing was learned: by {metric}, no arm is better than an untrained model",
    "arms_not_learned": "the claim presupposes that these arms learned: {arms:listed}",
    "identical": "in every pair of runs, both arms have exactly the same value of {metric}",
    "no_room": "with {baseline:arm}, {metric} is only {room:.3g} away from that of {limit}, so "
    "that these runs cannot show a difference above {margin:g}",
    "at_ceiling": "both arms are at the ceiling of {metric}, and no arm shows a loss",
    "too_few_learned": "only {pairs:pair} of runs learned the task, but an interval needs {needed}",
    "no_value": "an arm has no run with a value",
    "no_variation": "an arm has too few runs to show run-to-run variation",
    "too_few_levels": "{over} has fewer than two levels that are numbers",
    "no_logarithm": "{over}={level:g} has no logarithm",
    "failures_differ": "the two levels failed to learn at different rates, so that the runs that "
    "learned are a selection",
    "not_estimable": "too few runs that learned determine the effect",
    "no_trained_model": "no trained model was measured",
    "still_learning": "an arm may still have been learning",
    "not_confirmed_later": "longer training does not confirm it",
}


def caveat_text(caveat: Caveat) -> str:
    """Return a caveat as a sentence, after the numbers of its claims, such as "Claims 1 and 3:"."""
    text = sentence(caveat)
    if caveat["claims"]:
        return f"{claims_numbered(caveat['claims'])}: {text}"
    return text[:1].upper() + text[1:]


def sentence(reason: Reason) -> str:
    """Return the sentence (for a reason: the clause) of a code with its values."""
    values = dict(reason["values"])
    if "metric" in values:
        values["metric"] = metric_in_words(values["metric"], values.get("measures")).name
    return Words().vformat(TEMPLATES[reason["code"]], (), values)


class Words(Formatter):
    """Format the fields of a template; the part of a field after the colon says how.

    Beside Python's formats there are the names in `AS`, and nouns that are counted: `{n:run}` is "1
    run" or "3 runs", for a number or for the length of a list.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return the text of a field."""
        if format_spec in AS:
            return AS[format_spec](value)
        if format_spec in ("run", "seed", "pair", "other setting", "time"):
            return counted(len(value) if isinstance(value, list) else value, format_spec)
        text = str(super().format_field(value, format_spec))
        return text.replace("%", " %") if format_spec else text


def failures(counts: Mapping[str, Failures]) -> str:
    """Return a clause on how many runs of each arm failed to learn; "" if none did."""
    failed = {arm: [count["runs"], count["of"]] for arm, count in counts.items()}
    return f"runs {_failed(failed)}" if any(runs for runs, _ in failed.values()) else ""


def _failed(counts: Mapping[str, list[int]]) -> str:
    """Return how many runs of each arm failed to learn; the arm with the most comes first."""
    return f"{FAILED_TO_LEARN}: {_each(dict(sorted(counts.items(), key=lambda x: -x[1][0])))}"


def _each(values: Mapping[str, Any]) -> str:
    """Return a value of each arm: "2 of 3 with Pre-LN; 3 of 3 with Post-LN", or "no arm"."""
    return "; ".join(f"{_one(x)} with {quoted(arm)}" for arm, x in values.items()) or "no arm"


def _one(value: Any) -> str:
    """Return one value of an arm or a processor: a number, a number of all its runs, or levels."""
    if isinstance(value, dict):
        return arm_label(value)
    if isinstance(value, list):
        return f"{value[0]} of {value[1]} runs"
    return f"{value:.3g}" if isinstance(value, float) else grouped(value)


def _changes(changes: list[Any]) -> str:
    given = ((key, *("not given" if x is None else x for x in both)) for key, *both in changes)
    return listed([f"{key} was {before} and is {now}" for key, before, now in given])


AS: dict[str, Callable[[Any], str]] = {
    "listed": lambda items: listed([quoted(str(item)) for item in items]),
    "grouped": grouped,
    "key": factor_label,
    "arm": in_sentence,
    "each": _each,
    "failed": _failed,
    "total": lambda counts: counted(sum(counts.values()), "run"),
    "changes": _changes,
    "reason": sentence,
    "so": lambda exploratory: ", so the answer is exploratory" * exploratory,
    "texts": lambda task: texts_of_task({"task": task}),
}


def scope_sentence(verdict: Verdict) -> str:
    """Return a sentence that limits a result to the size of the model, the corpus and the steps."""
    setting = verdict["regime"]
    if "data" not in setting:
        return BOUNDS["table"].format(corpus=setting["corpus"])
    if not was_trained(verdict):
        return BOUNDS["untrained"]
    arms = [arm["metrics"] for arm in verdict["arms"]]
    sizes = [metrics["parameters"]["mean"] for metrics in arms if "parameters" in metrics]
    ends = [f"{float(f'{end(sizes):.3g}'):,.0f}" for end in (min, max) if sizes]
    size = " to ".join(dict.fromkeys(ends))
    return BOUNDS["trained"].format(
        size=f"{size} parameters" if size else "an unknown size",
        data=listed([option_label("data", name) for name in each_of(setting["data"])]),
        steps=grouped(setting["steps"]),
    )


def regime(verdict: Verdict) -> str:
    """Return the setting (data, model, training, test, machine) in one line."""
    setting: dict[str, Any] = {**verdict["regime"]}
    if "data" in setting:
        setting["data"] = [option_label("data", name) for name in each_of(setting["data"])]
    if isinstance(tested := setting.get("test_sentences"), dict):
        setting["test_sentences"] = [f"{number:,} ({split})" for split, number in tested.items()]
    trained = was_trained(verdict)
    parts = [
        f"{key} {listed([f'{x:,}' if isinstance(x, int) else x for x in each_of(value)])}"
        for key, value in setting.items()
        if value and key != "scale" and (trained or key not in TRAINING)
    ]
    line = "; ".join([*parts, *["not trained"] * (not trained and "data" in setting)])
    return line.replace("test_sentences", f"test_{texts_of_task(verdict['components'])}")


def registration(evidence: "Evidence", verdict: Verdict) -> str:
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
        f"was registered at {_registration_time(verdict) or 'an unknown time'}{after}."
        f"{judged * bool(looks)}"
    )


def _registration_time(verdict: Verdict) -> str:
    when = verdict.get("registered")
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M UTC}" if when else ""


def citation(verdict: Verdict) -> str:
    """Return the line for citing a report: software, experiment, hash of its study, and date."""
    software = listed(each_of(verdict["versions"].get("ablate", "")), "or")
    name, study = verdict["experiment"], verdict["study_hash"]
    day = _registration_time(verdict)[:10]
    parts = [f"ablate {software}", f"experiment {name}"]
    parts += [f"study {study}"] * bool(study) + [f"registered {day}"] * bool(day)
    return ", ".join(parts)


def versions(verdict: Verdict) -> str:
    """Return the names and versions of the packages that the runs used, as text."""
    return ", ".join(f"{k} {listed(each_of(v), 'or')}" for k, v in verdict["versions"].items())


def commits(runs: Sequence[Run]) -> str:
    """Return the commits of ablate with which the runs were made, as text."""
    return listed(sorted({run.get("commit", "") for run in runs} - {""})) or "not recorded"
