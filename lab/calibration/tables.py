"""Write the results of the calibration as a Markdown page with one table per question."""

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
Weak = dict[tuple[str, int], Marks]  # result of lab.calibration.stress.stress
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
# Errors that may happen at a rate of alpha; all others are allowed at alpha / 2.
WHOLE = ("equivalence at +margin: supported", "equivalence at -margin: supported", "family")
PROMISED_POWER = 0.77  # 80 % is promised, and 3 points less are allowed
SHARES = np.arange(0, 101) / 100  # proportions of runs that go wrong
DIVERGING = (0.1, 55.0)  # probability that a run of the treatment diverges; its loss in BLEU


class Tried(NamedTuple):
    """Rates of verdicts if a user analyses repeatedly.

    Attributes:
        staged: for each case of planned looks, the proportions that `sequential` counts.
        fished: for each route of `fishing`, the proportion of users with a false verdict.
    """

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
    """Return the page docs/explanation/calibration.md: all tables with their explanations.

    Args:
        results: result of `calibrate`.
        promises: result of `keep`.
        weak: result of `stress`.
        tried: result of `tried`.
        sweeps: number of simulated sweeps for each row.
        sentences: number of test sentences.
        margin: margin of the claims in BLEU.
        noise: the section on noise that is not normal, in Markdown.
    """
    failed = failures(checked(results, promises, weak, tried, sweeps))
    error = 100 * (0.05 * 0.95 / sweeps) ** 0.5
    seeds = sorted({n for _, n in results})
    parts = [
        "# How often the verdicts are wrong",
        "",
        "This page shows by simulation how often verdicts are wrong. "
        "`python -m lab.calibrate` writes this page. "
        f"Unless a section says otherwise, each row of a table summarises {sweeps:,} simulated "
        "sweeps. "
        f"In the sections up to *Seeds needed*, a simulated run has, for each of {sentences} test "
        "sentences, the numbers of matching n-grams from which BLEU is computed. "
        f"The code that judges real sweeps also judges the simulated sweeps, at alpha = {ALPHA}. "
        f"A measured 5 % has a standard error of {error:.1f} points. "
        "Because the page has many percentages, some of them differ from their true value by two "
        "to three standard errors. "
        "A row fails if the lower 99 % bound of its percentage, corrected for the number of rows "
        "(Bonferroni), is above the allowed percentage. "
        "Rows that fail: " + ("; ".join(failed) or "none") + ".",
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
    "The table compares the noise of the simulated sweeps with the noise of the real sweeps "
    "that the simulation imitates (`python -m lab.noise experiments/preln_vs_postln`, and "
    "`experiments/preln_vs_postln_depth` for models of six layers). The noise of the paired "
    "difference of two runs has three components: the seed, the test sentences, and the rest. "
    "Each column shows one component as a standard deviation in BLEU. *Similar arms* (variants) "
    "differ little in which sentences they translate correctly. *Distinct arms* differ more in "
    "this respect, because one of them fails, so their sentence component is larger. The "
    "sentence component does not average out over seeds. With *unequal variances*, the standard "
    "deviation over seeds is three and a half times as large in the treatment as in the "
    "baseline."
)
INTERVALS = (
    "The table shows the percentage of two-sided 95 % intervals that miss the true mean over "
    "new seeds and new sentences. The percentage should be 5. The first column of percentages "
    "shows the method of `ablate`. The method's percentage is at or below 5 in every row, "
    "within the error of the simulation. The bootstrap intervals are too short with few seeds. "
    "A t interval over seeds alone is too short if the difference between the arms varies from "
    "sentence to sentence. "
    "Satterthwaite's method has too many degrees of freedom with few seeds, so its intervals "
    "are too short."
)
VERDICTS = (
    "The table shows the percentage of false verdicts, with a margin of {margin:g} BLEU. The "
    "head of a column names the verdict and the true effect, which is the worst case for this "
    "verdict. If the head names no kind of claim, the kind is the same as in the column to the "
    "left. A verdict that rests on one end of a two-sided interval may be false in 2.5 % of "
    "sweeps, and *equivalence supported* in 5 %. The last column shows studies of three claims "
    "that share their baseline: two claims without an effect and one claim with an effect. At "
    "least one of the three verdicts may be false in 5 % of these studies."
)
POWER = (
    "The table shows the percentage of sweeps that reach the true verdict. The first number of "
    "a cell was measured, and the second number was predicted by the power formula. The column "
    "*superiority* has a true effect of {margin:g} BLEU and a margin of 0. The column "
    "*equivalence* has equal arms and a margin of {margin:g} BLEU."
)
PROMISED = (
    "`seeds_needed` recommends the number of seeds with which 80 % of sweeps reach a verdict. "
    "Each cell shows three numbers: the percentage of simulated sweeps that reached the verdict "
    "with the recommended number of seeds, the planned percentage, and the recommended number "
    "of seeds. A measured percentage may be 3 points below 80. The recommendation is computed "
    "from the noise that was measured with the largest number of seeds in the tables above. The "
    "margin is {margin:g} BLEU. The assumed true effect is the margin in the column *direction "
    "only*, twice the margin in the column *large enough to matter*, and 0 in the other "
    "columns. The planned percentage can be above 80, because the number of seeds is a whole "
    "number."
)
STABILITY = (
    "A stability claim says that fewer runs of one arm than of the other go wrong (diverge or "
    "collapse). The percentages are computed exactly, without simulation. The column *supported "
    "at equal rates* shows how often the claim is supported although the runs of both arms go "
    "wrong equally often. The column *refuted at a margin of .2* shows how often the claim is "
    "refuted although the rates of the two arms differ by 20 percentage points. Both columns "
    "show the worst percentage over all possible rates. The column *power* shows how often the "
    "claim is supported if 10 % of the runs of one arm and 80 % of the runs of the other arm go "
    "wrong."
)
DIVERGED = (
    "In this simulation, a run of the treatment diverges with a probability of 10 % and then "
    "loses 55 BLEU. All other runs of the treatment are better than the baseline by 1 BLEU on "
    "average. If no run of a sweep happens to diverge, no method can estimate the true mean. "
    "Verdicts therefore state how many runs of each arm went wrong, and stability is a separate "
    "kind of claim. The table shows the percentage of 95 % intervals that miss the true mean."
)


GROUPED = (
    "In this simulation, 500 test sentences come from 25 documents of 20 sentences. The "
    "contributions of the sentences of one document to the difference are correlated, and the "
    "true effect is 0. The table shows the percentage of 95 % intervals that miss the true "
    "effect. In the column *documents named*, the corpus states the document of every sentence "
    "in a file `test.groups`. In the column *not named*, the corpus has no such file."
)


TUNED = (
    "Two identical arms try three learning rates. The standard deviation between seeds is 1 "
    "BLEU. The name of a row states the true difference between neighbouring learning rates, "
    "and the number of seeds. The table shows the percentage of sweeps in which the verdict "
    "calls the two identical arms different. The nominal percentage is 5. In the column *a "
    "replicate chooses*, every seed chooses its learning rate by a separate screening run, as "
    "with `study.tune`. In the column *an arm chooses*, every arm chooses one learning rate for "
    "all of its seeds by two screening runs."
)
STAGES = (
    f"Two equally noisy arms have {SEEDS} seeds with normal noise. Interim analyses (*looks*) "
    "follow after 4, 8 and 12 seeds. A sweep ends early when its claim is decided, or when the "
    "conditional power of the claim is below 10 %. The table shows the percentage of sweeps "
    "that reach the named verdict, for one look at the end and for three looks. The last column "
    "shows the percentage of the runs that sweeps with three looks use. A false verdict "
    "is allowed in at most 2.5 % of sweeps, and a false verdict that two arms are equivalent in at "
    "most 5 %. The rows with true "
    "verdicts are shown for comparison."
)
FISHED = (
    "Two equal arms are compared, and users try in ten ways to get a false verdict. Each user "
    "starts up to ten sweeps of ten seeds, or makes four analyses of twenty seeds. An analysis "
    "log records every try. The table shows the percentage of users who get a verdict "
    "*supported* that is not marked as exploratory. At most 2.5 is allowed. Without an analysis "
    "log, the percentage would be 6.5 for looks within the plan, 8.7 for one dropped seed, 18.4 "
    "for two dropped seeds, and 22.5 for ten replicates."
)
# Heads of three columns: the name of the row, and two rates. Only the first rate has a limit.
OF_GROUPS = ("correlation, seeds", "documents named", "not named")
OF_TUNING = ("rates, seeds", "a replicate chooses", "an arm chooses")


def checked(
    results: Results, promises: Promises, weak: Weak, tried: Tried, sweeps: int
) -> list[Row]:
    """Return every rate of errors that has a limit, with the limit.

    The rates in the second columns of *Grouped sentences* and *Tuned arms* have no limit.
    """
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
    """Return an estimate that has the noise of a difference between two equal arms.

    The noise is that of the row with the most seeds, because few seeds measure it badly.
    """
    best = best_known(results, kind)
    seed = best["noise: seed"] + best["noise: rest"]
    sentence = max(0.0, best["noise: sentence"])
    seeds = most(results, kind)
    return Estimate(0.0, seeds, sentences, seed, sentence, best["noise: skewness"])


def best_known(results: Results, kind: str) -> Marks:
    """Return the marks of the row with this kind of noise and the most seeds."""
    return results[kind, most(results, kind)]


def most(results: Results, kind: str) -> int:
    """Return the largest number of seeds of a row with this kind of noise."""
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
