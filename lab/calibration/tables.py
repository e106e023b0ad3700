"""The calibration as Markdown: one table per question."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from ablate.stats.estimate import Estimate, estimate
from ablate.stats.rates import p_values
from ablate.verdict.decision import LARGE, SUPPORTED
from ablate.verdict.kind import KINDS
from lab.calibration.check import Row, failures
from lab.calibration.planned import PROMISES
from lab.calibration.sequential import FALSE as FALSE_STAGED
from lab.calibration.sequential import FIXED, SEEDS, STAGED, USED
from lab.calibration.simulate import MEASURED
from lab.calibration.trial import ALPHA, OURS, RIVALS, Marks

Cell = tuple[str, int]  # kind of noise, number of seeds
Results = dict[Cell, Marks]
Promises = dict[str, Marks]  # by kind of noise
Weak = dict[tuple[str, int], Marks]  # lab.calibration.stress
Cells = list[str]

FALSE = {
    "superiority supported at effect 0": "superiority at effect 0: supported",
    "refuted at effect 0": "superiority at effect 0: refuted",
    "refuted at the margin": "superiority at the margin: refuted",
    "at least the margin, at the margin": f"superiority at the margin: {LARGE}",
    "equivalence supported at +margin": "equivalence at +margin: supported",
    "at -margin": "equivalence at -margin: supported",
    "equivalence refuted at +margin": "equivalence at +margin: refuted",
    "refuted at -margin": "equivalence at -margin: refuted",
    "non-inferiority supported at -margin": "non-inferiority at -margin: supported",
    "non-inferiority refuted at -margin": "non-inferiority at -margin: refuted",
    "trend supported at slope 0": "trend at slope 0: supported",
    "refuted at slope 0": "trend at slope 0: refuted",
    "any of three claims": "family",
}
# Tests that have all of alpha, not one end's half.
WHOLE = ("equivalence at +margin: supported", "equivalence at -margin: supported", "family")
PROMISED_POWER = 0.77  # .8, within 3 points
SHARES = np.arange(0, 101) / 100  # rates at which runs go wrong
DIVERGING = (0.1, 55.0)  # chance that a run of the treatment diverges, and what it then loses


class Tried(NamedTuple):
    """What looking and trying again and again does: shares by case, and by route."""

    staged: dict[str, Marks]
    fished: dict[str, float]


def document(
    results: Results,
    promises: Promises,
    weak: Weak,
    tried: Tried,
    sweeps: int,
    sentences: int,
    margin: float,
    noise: str,
) -> str:
    """All tables, with what they say and how they were made."""
    failed = failures(checked(results, promises, weak, tried, sweeps))
    error = 100 * (0.05 * 0.95 / sweeps) ** 0.5
    seeds = sorted({n for _, n in results})
    parts = [
        "# How often the verdicts are wrong",
        "",
        "This page shows by simulation how often verdicts are wrong. "
        "`python -m lab.calibrate` writes it. "
        f"Every row has {sweeps:,} simulated sweeps, each with whole numbers of matching n-grams "
        f"for {sentences} test sentences. "
        f"The code that judges real sweeps judges them at alpha = {ALPHA}. "
        f"A measured 5 % has a standard error of {error:.1f} points. "
        "Some of so many percentages differ from their true value by two to three standard errors. "
        "A row fails if its lower 99 % bound, corrected for the number of rows (Bonferroni), is "
        "above the allowed percentage. Rows that fail: " + ("; ".join(failed) or "none") + ".",
        "",
        *_section("Noise", NOISE, _noise_table(results)),
        *_section("Intervals", INTERVALS, _coverage_table(results)),
        *_section("False verdicts", VERDICTS.format(margin=margin), _false_table(results)),
        *_section("Power", POWER.format(margin=margin), _power_table(results, sentences, margin)),
        *_section("Seeds needed", PROMISED.format(margin=margin), _promise_table(promises)),
        noise.rstrip(),
        "",
        *_section("Grouped sentences", GROUPED, _weak_table(weak, *OF_GROUPS)),
        *_section("Tuned arms", TUNED, _weak_table(weak, *OF_TUNING)),
        *_section("Planned looks", STAGES, _staged_table(tried)),
        *_section("Fishing", FISHED, _fished_table(tried)),
        *_section("Stability", STABILITY, _stability_table(seeds)),
        *_section("What no interval of means can know", DIVERGED, _diverged_table(seeds, sweeps)),
    ]
    return "\n".join(parts)


NOISE = (
    "The table compares the simulated noise with the noise of the real sweeps that it "
    "imitates (`python -m lab.noise experiments/preln_vs_postln`, for six layers "
    "`experiments/preln_vs_postln_depth`). Each column is a component of the paired "
    "difference of two runs, as a standard deviation in BLEU. *Similar arms* differ little in "
    "which sentences they translate correctly. *Distinct arms* differ more (one of them "
    "fails), and this component does not average out over seeds. With *unequal variances*, "
    "the standard deviation over seeds is three and a half times as large in the treatment as "
    "in the baseline."
)
INTERVALS = (
    "The table shows how often the two-sided 95 % interval misses the true mean over new "
    "seeds and new sentences, in %. It should be 5 %. The first column is the method of "
    "`ablate`. It is at or below 5 % in every row, within the error of the simulation. The "
    "bootstrap intervals are too short with few seeds. A t interval over seeds alone is too "
    "short if the arms differ on the sentences. Satterthwaite's method has too many degrees "
    "of freedom with few seeds."
)
VERDICTS = (
    "The table shows the percentage of false verdicts, each at its worst case, with a margin "
    "of {margin:g} BLEU. At most 2.5 % are allowed for one end of a two-sided interval, and 5 "
    "% if equivalence is supported. At most 5 % are also allowed for a study of three claims "
    "(two claims without an effect and one with an effect, which share their baseline)."
)
POWER = (
    "The table shows the percentage of true verdicts, as measured / as predicted by the power "
    "formula. Superiority has a true effect of {margin:g} BLEU and a margin of 0. Equivalence "
    "compares equal arms with a margin of {margin:g} BLEU."
)
PROMISED = (
    "Each cell shows the percentage of sweeps that reached the verdict with the number of "
    "seeds that `seeds_needed` recommends. The recommendation uses the noise of the rows with "
    "the most seeds above. It promises 80 %, and 3 points less are tolerated. The margin is "
    "{margin:g} BLEU. The assumed true effect is the margin for *there* (supported, direction "
    "only), twice the margin for *large enough to matter*, and 0 for the others. If the "
    "recommended number is small, the percentage can be above 80, because the number of seeds "
    "is whole."
)
STABILITY = (
    "These numbers are computed exactly, without simulation. The false verdicts are the worst "
    "percentage over all rates at which both arms could fail equally often. The power is for "
    "arms in which 10 % and 80 % of the runs go wrong."
)
DIVERGED = (
    "In this simulation, a run of the treatment diverges with a probability of 10 % and then "
    "loses 55 BLEU. The other runs are better by 1 BLEU. If no run of a sweep happens to "
    "diverge, no method can know the mean. Verdicts therefore state how many runs of each arm "
    "went wrong, and stability is a separate kind of claim. The table shows the percentage of "
    "95 % intervals that miss the mean."
)


GROUPED = (
    "There are 500 test sentences in 25 documents of 20. The contributions of sentences "
    "correlate within a document, and there is no effect. The table shows the percentage of "
    "95 % intervals that miss the true effect, if the corpus names the documents (a file "
    "`test.groups`), and if it does not."
)


TUNED = (
    "Two identical arms try three learning rates. The standard deviation between seeds is 1 "
    "BLEU. The table shows the percentage of false differences, nominally 5. In the first "
    "column every replicate chooses its rate by a separate screening seed, as `study.tune` "
    "does. In the second column an arm chooses one rate for all replicates by two seeds."
)
STAGES = (
    f"Two equally noisy arms have {SEEDS} seeds with normal noise. Interim analyses (looks) "
    "follow after 4, 8 and 12 seeds. A claim ends when it is decided, or has less than 10 % "
    "conditional power. The table shows the percentage of sweeps with the named verdict, for "
    "one look and for three looks, and the percentage of the runs that three looks use. False "
    "verdicts may be 2.5, and 5 if equivalence is supported. True verdicts are shown for "
    "comparison."
)
FISHED = (
    "Two equal arms are tested, and users try again in ten ways: up to ten sweeps of ten "
    "seeds, or four analyses of twenty seeds. An analysis log records every try. The table "
    "shows the percentage of users who get a *supported* that is not exploratory. At most 2.5 "
    "is allowed. Without an analysis log it would be 6.5 (looks within the plan), 8.7 and "
    "18.4 (one and two seeds dropped), and 22.5 (ten replicates)."
)
# What names a row, and the shares of its two columns, the first of which must keep its level.
OF_GROUPS = ("correlation, seeds", "documents named", "not named")
OF_TUNING = ("rates, seeds", "a replicate chooses", "an arm chooses")


def checked(
    results: Results, promises: Promises, weak: Weak, tried: Tried, sweeps: int
) -> list[Row]:
    """Every share of errors with its level; seeds too few for their noise are warned of instead."""
    rows = [
        Row(f"{_name(row)}, {mark}", marks[mark], ALPHA if mark in WHOLE else ALPHA / 2, sweeps)
        for row, marks in results.items()
        for mark in FALSE.values()
    ]
    rows += [
        Row(f"{_name(row)}, interval", marks[OURS], ALPHA, sweeps) for row, marks in results.items()
    ]
    rows += [
        Row(f"{kind}, power of {name}", 1 - promised[name], 1 - PROMISED_POWER, sweeps)
        for kind, promised in promises.items()
        for name in PROMISES
    ]
    for (kind, seeds), marks in weak.items():
        shares = [name for name in (OF_GROUPS[1], OF_TUNING[1]) if name in marks]
        rows += [Row(f"{kind}, {seeds}, {name}", marks[name], ALPHA, sweeps) for name in shares]
    rows += [
        Row(f"{name}, {STAGED}", tried.staged[name][STAGED], level, sweeps)
        for name, level in FALSE_STAGED.items()
        if name in tried.staged
    ]
    return rows + [Row(name, share, ALPHA / 2, sweeps) for name, share in tried.fished.items()]


def _staged_table(tried: Tried) -> list[Cells]:
    names = (FIXED, STAGED, USED)
    rows = [[case, *(_percent(tried.staged[case][x]) for x in names)] for case in tried.staged]
    return [["claim, true effect: verdict", *names], *rows]


def _fished_table(tried: Tried) -> list[Cells]:
    return [["route", "false"], *([name, _percent(x)] for name, x in tried.fished.items())]


def _weak_table(weak: Weak, *head: str) -> list[Cells]:
    shares = {row: marks for row, marks in weak.items() if head[1] in marks}
    rows = [[_name(row), *(_percent(shares[row][name]) for name in head[1:])] for row in shares]
    return [[*head], *rows]


def _section(title: str, text: str, table: list[Cells]) -> list[str]:
    head, *body = table
    rule = ["---", *["---:"] * (len(head) - 1)]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]
    return [f"## {title}", "", text, "", *lines, ""]


def _noise_table(results: Results) -> list[Cells]:
    table = [["noise", "seed", "sentence", "rest"]]
    for kind in dict.fromkeys(kind for kind, _ in results):
        rates = best_known(results, kind)
        sizes = [
            max(0.0, rates[f"noise: {level}"]) ** 0.5 for level in ("seed", "sentence", "rest")
        ]
        table.append([f"simulated: {kind}", *(f"{size:.2f}" for size in sizes)])
    for kind, measured in MEASURED.items():
        table.append([f"measured: {kind}", *(f"{size:.2f}" for size in measured)])
    return table


def _coverage_table(results: Results) -> list[Cells]:
    methods = [name for name in (OURS, *RIVALS) if all(name in marks for marks in results.values())]
    table = [["noise, seeds", *methods]]
    for row, marks in results.items():
        table.append([_name(row), *(_percent(marks[method]) for method in methods)])
    return table


def _false_table(results: Results) -> list[Cells]:
    table = [["noise, seeds", *FALSE]]
    for row, marks in results.items():
        table.append([_name(row), *(_percent(marks[mark]) for mark in FALSE.values())])
    return table


def _power_table(results: Results, sentences: int, margin: float) -> list[Cells]:
    table = [["noise, seeds", "superiority", "equivalence"]]
    for (kind, seeds), marks in results.items():
        noise = replace(noise_of(results, kind, sentences), pairs=seeds)
        planned = (
            KINDS["superiority"].power(SUPPORTED, noise, 0.0, margin, seeds, ALPHA),
            KINDS["equivalence"].power(SUPPORTED, noise, margin, 0.0, seeds, ALPHA),
        )
        measured = (marks[f"{kind} planted: supported"] for kind in ("superiority", "equivalence"))
        both = [f"{_percent(m)} / {_percent(p)}" for m, p in zip(measured, planned, strict=True)]
        table.append([_name((kind, seeds)), *both])
    return table


def noise_of(results: Results, kind: str, sentences: int) -> Estimate:
    """Noise of a difference: that of the most seeds, as a row of few knows it badly."""
    best = best_known(results, kind)
    seed = best["noise: seed"] + best["noise: rest"]
    sentence = max(0.0, best["noise: sentence"])
    seeds = most(results, kind)
    return Estimate(0.0, seeds, sentences, seed, sentence, best["noise: skewness"])


def best_known(results: Results, kind: str) -> Marks:
    """What sweeps of the most seeds found with this noise."""
    return results[kind, most(results, kind)]


def most(results: Results, kind: str) -> int:
    """The most seeds that a row has with this noise."""
    return max(n for other_kind, n in results if other_kind == kind)


def _promise_table(promises: Promises) -> list[Cells]:
    table = [["noise", *PROMISES]]
    for kind, promised in promises.items():
        cells = [
            f"{_percent(promised[name])}, planned {_percent(promised[f'{name}: planned'])}, "
            f"{promised[f'{name}: seeds']:g} seeds"
            for name in PROMISES
        ]
        table.append([kind, *cells])
    return table


def _stability_table(seeds: list[int]) -> list[Cells]:
    table = [["runs per arm", "supported at equal rates", "refuted at a margin of .2", "power"]]
    for n in seeds:
        above = p_values(n, n, 0.0) <= ALPHA / 2
        below = p_values(n, n, -0.2).T <= ALPHA / 2
        false = max(_chance(above, share, share) for share in SHARES)
        at_margin = max(_chance(below, share, share - 0.2) for share in SHARES if share >= 0.2)
        power = _chance(above, 0.8, 0.1)
        table.append([str(n), _percent(false), _percent(at_margin), _percent(power)])
    return table


def _chance(decided: np.ndarray, first: float, second: float) -> float:
    events = np.arange(len(decided))
    ones = np.asarray(stats.binom.pmf(events, len(decided) - 1, first))
    twos = np.asarray(stats.binom.pmf(events, len(decided) - 1, second))
    return float((ones[:, None] * twos * decided).sum())


def _diverged_table(seeds: list[int], sweeps: int) -> list[Cells]:
    chance, loss = DIVERGING
    rng = np.random.default_rng(0)
    table = [["seeds", "all sweeps", "sweeps in which a run diverged"]]
    for n in seeds:
        diverged = rng.random((sweeps, n)) < chance
        differences = np.where(diverged, -loss, rng.normal(1.0, 1.7, (sweeps, n)))
        mean = (1 - chance) * 1.0 - chance * loss
        ends = np.array([estimate(row).interval(1 - ALPHA) for row in differences])
        missed = (mean < ends[:, 0]) | (mean > ends[:, 1])
        seen = diverged.any(1)
        table.append([str(n), _percent(missed.mean()), _percent(missed[seen].mean())])
    return table


def _name(row: Cell) -> str:
    return f"{row[0]}, {row[1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
