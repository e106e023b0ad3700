"""Write sentences on how far a verdict can be trusted, for runs that were not made by this
package.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np
from scipy import special

from ablate.evidence.foreign.table import EMPTY, Table
from ablate.phrases import listed
from ablate.referee.decide import OF_MEANS, Judged
from ablate.referee.question import Claim, Design, Question
from ablate.referee.runs import Arm, Runs, marked_failed
from ablate.stats.means import variance_of
from ablate.stats.skew import is_visible, skewness

UNKNOWN = (
    "Not known of foreign runs: whether the question is older than the runs, whether runs were "
    "dropped before the table was written, how often the question was asked before, and whether "
    "the arms were tuned alike."
)
DOUBT = 0.05  # p-value below which stated noise is called doubtful
# names of columns that tell that a row may be a step of a run
STEPS = {"step", "_step", "global_step", "iteration", "iter", "epoch"}
MOST_NAMED = 5  # largest number of columns in a sentence
# columns of W&B and MLflow, and their values for runs that did not finish normally
STATES = {"state", "status"}
UNFINISHED = {"crashed", "failed", "killed", "preempted", "running", "scheduled", "unfinished"}


def of_table(question: Question, runs: Runs) -> Iterator[str]:
    """Yield sentences on problems of a table that concern all claims about it."""
    yield UNKNOWN
    yield from runs.table.notes
    counts, design = runs.counts, runs.design
    if counts["rows"] != counts["runs"]:
        row = f"runs, of each of which the {_row(design)} counts"
        which = row if design.step else "of them count"
        yield f"The table has {counts['rows']:,} rows; {counts['runs']:,} {which}."
    if counts["without_value"]:
        reach, missing = design.reach, design.missing
        result = design.metric if reach is None else f"number of steps to reach {reach:g}"
        stated = missing if isinstance(missing, str) else f"{missing:g} stands for them"
        yield (
            f"{counts['without_value']} of {counts['runs']} runs have no finite "
            f"{result} ({counts['infinite']} infinite, {counts['marked_failed']} "
            f"marked as failed); the study says missing: {stated}."
        )
    yield from _without_label(runs)
    yield from _unfinished(runs)
    yield from steps(question.design, question.columns, runs.table)
    if counts.get("ended_early"):
        what = "still count, unless the study marks them as failed"
        if design.reach is not None:
            what = (
                f"count as failed if they did not reach {design.reach:g}. If they were "
                "planned to be shorter, they did not fail: first cut all runs to the same number "
                "of steps"
            )
        yield (
            f"{counts['ended_early']} of {counts['runs']} runs have their last {design.metric}"
            f" at an earlier step than the longest run; they {what}."
        )
    if counts.get("repeated_steps"):
        yield (
            f"{counts['repeated_steps']} rows repeat the {design.run} and the {design.step} of "
            "another row; the later row counts. If the rows belong to different runs, give each "
            f"run its own {design.run}."
        )
    if counts.get("not_reached"):
        yield (
            f"{counts['not_reached']} runs never reach {design.reach:g}: their last step "
            "stands for a later one, so that their mean is a lower bound."
        )
    ordered = np.sort(runs.table.digests)
    if copies := int((ordered[1:] == ordered[:-1]).sum()):
        yield (
            f"{copies} rows repeat another row in every column. They are counted; if they are "
            "copies of one run, the interval is too short."
        )


def _unfinished(runs: Runs) -> Iterator[str]:
    """Yield a sentence for each column that marks some of the counted runs as unfinished."""
    failed = runs.without | marked_failed(runs.table, runs.design)
    for name, column in runs.table.columns.items():
        if name.lower() not in STATES:
            continue
        codes = [k for k, text in enumerate(column.texts) if text.lower() in UNFINISHED]
        counted = column.codes[np.isin(column.codes, codes) & ~failed]
        if len(counted):
            states = sorted(column.texts[code] for code in np.unique(counted))
            yield (
                f"{name} is {listed(states, 'or')} for {len(counted)} of {runs.table.rows} runs, "
                "which still count with their value; in a study, "
                f"`failed: {{{name}: [{', '.join(states)}]}}` counts them as failed."
            )


def steps(design: Design, used: Iterable[str], table: Table) -> Iterator[str]:
    """Yield a sentence for each column of steps with many values, if each row counts as a run.

    There is no sentence if no name in the column `run` occurs twice, as each run then has one row.

    Args:
        design: how the table is read.
        used: columns that the question uses.
        table: the runs.
    """
    unused = STEPS - {*used} if not design.step else set()
    if "run" in table.columns and len(table.columns["run"].labels()[1]) == table.rows:
        return
    for name in sorted(unused & {*table.columns}):
        values = table.columns[name].numbers
        _, repeats = np.unique(values[np.isfinite(values)], return_counts=True)
        if len(repeats) and 2 * repeats.max() < table.rows:
            yield (
                f"Most rows differ in {name}, but each row counts as a run. If a run has a row for "
                "each step, the confidence interval is far too narrow: name the columns run and "
                "step."
            )


def _without_label(runs: Runs) -> Iterator[str]:
    """Yield a sentence for each column in which some runs have no value and are left out."""
    design = runs.design
    named = [*((name, "arm") for name in design.arm), (design.group, "dataset")]
    for name, what in [*named, (design.pair, "pair")]:
        if name and (empty := int((runs.table.columns[name].codes == EMPTY).sum())):
            of = f"{empty} of {runs.table.rows} runs"
            yield f"{of} have nothing in {name}, and are in no {what}."


def of_claim(judged: Judged, runs: Runs) -> Iterator[str]:
    """Yield sentences on problems with the runs of the compared arms, for a single claim."""
    arms = judged.arms
    yield from _without_level(judged.claim, arms, runs)
    yield from _other_columns(judged.claim, arms, runs)
    if judged.claim.kind in OF_MEANS:  # other kinds of claims do not use noise
        yield from _noise(arms, runs)
    for arm in arms:
        if len(arm.values) > 2 and is_visible(skewness(arm.values), len(arm.values)):
            how = "is" if runs.design.corrects else "is not"
            yield (
                f"The runs of {arm.label} are skewed, for which t {how} corrected; with few runs "
                "it may still err more often than alpha says (docs/howto/referee.md)."
            )
        if len(arm.values) > 1 and not np.ptp(arm.values):
            yield f"All {len(arm.values)} runs of {arm.label} have exactly the same value."


def _without_level(claim: Claim, arms: tuple[Arm, ...], runs: Runs) -> Iterator[str]:
    """Yield a sentence if runs of a trend have no number in the column of the trend."""
    if claim.kind != "trend" or not arms:
        return
    rows = np.unique(np.concatenate([arm.rows for arm in arms]))
    without = int((~np.isfinite(runs.table.numbers(claim.over, "over")[rows])).sum())
    if without:
        yield (
            f"{without} of {len(rows)} runs have no finite value of {claim.over}, so the slope "
            "leaves them out."
        )


def _row(design: Design) -> str:
    if design.reach is not None:
        return f"first step at {design.reach:g}"
    if design.take == "last":
        return "last recorded value"
    by = design.by or design.metric
    extreme = "lowest" if design.lower else "highest"
    flatters = "" if by != design.metric else ", which flatters noisy curves,"
    return f"row with the {extreme} {by}{flatters}"


def _other_columns(claim: Claim, arms: tuple[Arm, ...], runs: Runs) -> Iterator[str]:
    """Yield a sentence on columns that are constant within each arm but differ between the arms.

    Only the first two arms are compared. Columns that the design or the claim uses are left out. A
    column that only repeats the names of the arms is also left out, such as the column `arm` of
    `ablate.load`.
    """
    if len(arms) < 2:
        return
    if min(arm.runs for arm in arms) < 2:
        yield "Arms of a single run: nothing tells whether they differ in more than their name."
        return
    labels = (arms[0].label, arms[1].label)
    used_columns = {*runs.design.columns, *claim.columns}
    differing = []
    for name, column in runs.table.columns.items():
        if name in used_columns:
            continue
        first, second = (column.constant(arm.rows) for arm in arms[:2])
        same = None in (first, second) or first == second
        if not same and (first, second) != labels:
            differing.append(f"{name} ({first or 'nothing'} against {second or 'nothing'})")
    if differing:
        more = len(differing) - MOST_NAMED
        named = differing[:MOST_NAMED] + ([f"{more} more"] if more > 0 else [])
        yield f"The arms also differ in {listed(named)}: the effect may be theirs."


def _noise(arms: tuple[Arm, ...], runs: Runs) -> Iterator[str]:
    noise = runs.design.noise
    if noise.sd is not None:
        yield f"The standard deviation of {noise.sd:g} is stated ({noise.source}), not measured."
        yield from _against_stated(arms, noise.sd)


def _against_stated(arms: tuple[Arm, ...], sd: float) -> Iterator[str]:
    """Yield a sentence for each arm whose standard deviation does not fit the stated value."""
    for arm in arms:
        variance = variance_of(arm.values)
        if variance is None:
            continue
        ratio = variance.value * variance.df / sd**2
        p = 2 * min(special.chdtr(variance.df, ratio), special.chdtrc(variance.df, ratio))
        if p < DOUBT:
            yield (
                f"The {len(arm.values)} runs of {arm.label} have a standard deviation of "
                f"{math.sqrt(variance.value):.3g}, which does not fit (p = {p:.2g})."
            )
