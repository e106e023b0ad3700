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
        "Written by `python -m lab.calibrate`. Every row has "
        f"{sweeps:,} simulated sweeps: whole numbers of matching n-grams for every sentence, "
        f"judged by the code that judges real sweeps, at alpha = {ALPHA}, on {sentences} test "
        "sentences. "
        f"A share of 5 % is known to ± {error:.1f} % (one standard error); among as many shares as "
        "here some lie two to three of these away from their true value. A row fails where its "
        "lower 99 % bound, shared among all rows (Bonferroni), is above what is allowed: "
        + ("; ".join(failed) if failed else "none does")
        + ".",
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
    "Standard deviations in BLEU of the paired difference of two runs, as simulated, and of the "
    "sweep that it imitates (`python -m lab.noise experiments/preln_vs_postln`, for six "
    "layers `experiments/preln_vs_postln_depth`). Similar arms differ little in which sentences "
    "they get right; distinct arms do (one of them fails), and that part does not average out "
    "over seeds. With unequal variances the treatment's seeds vary three and a half times as much "
    "as the baseline's."
)
INTERVALS = (
    "How often the two-sided 95 % interval misses the true mean over new seeds and new sentences; "
    "it should be 5 %. Ours is at or below that in every row, within the error of the simulation; "
    "the bootstraps are too short with few seeds, t over seeds alone wherever the arms differ on "
    "the sentences, and Satterthwaite's degrees of freedom are too many with few seeds."
)
VERDICTS = (
    "Share of false verdicts in %, each at its worst case; margin {margin:g} BLEU. At most 2.5 % "
    "for one end of a two-sided interval, 5 % for equivalence supported and for a file of three "
    "claims (two without an effect, one with, sharing their baseline)."
)
POWER = (
    "Share of true verdicts in %, measured / as the power formula plans it: superiority with a "
    "true effect of {margin:g} BLEU and margin 0; equivalence of equal arms with margin {margin:g}."
)
PROMISED = (
    "The seeds that `seeds_needed` names, planned with the noise of the widest rows above, and the "
    "share of sweeps with that many in which the verdict was reached, in %; 80 is promised, within "
    "3. Margin {margin:g} BLEU; *there* is planned at a true effect of the margin, *at least the "
    "margin* at twice that, the others at 0. Where the "
    "smallest number that is enough is small, the share lies above 80."
)
STABILITY = (
    "Exact, not simulated: the worst share of false verdicts in % over all rates at which both "
    "arms could go wrong alike; and the power when 10 % and 80 % of the runs go wrong."
)
DIVERGED = (
    "A run of the treatment diverges with a chance of 10 % and then loses 55 BLEU; the others are "
    "better by 1 BLEU. Where no run of a sweep happens to diverge, no method can know the mean. "
    "Verdicts therefore say how many runs of each arm went wrong, and stability is a claim of its "
    "own. Share of 95 % intervals that miss the mean, in %."
)


GROUPED = (
    "500 test sentences in 25 documents of 20, whose contributions correlate inside a document, "
    "and no effect. Share of 95 % intervals that miss it, in %: where the corpus names documents "
    "(a file `test.groups`), and where it does not."
)


TUNED = (
    "Two identical arms that try three learning rates, whose seeds are worth 1 BLEU. Share of a "
    "false difference in %, nominally 5: where every replicate chooses by a screening seed of its "
    "own, as `study.tune` does, and where an arm chooses once by two seeds."
)
STAGES = (
    f"Two arms, equally noisy, {SEEDS} normal seeds, looks after 4, 8 and 12; a claim ends when "
    "it is decided, or has less than 10 % conditional power. Share of the verdict in %, with one "
    "look and with three, and share of the runs that the three take. False verdicts "
    "may be 2.5, and 5 where equivalence is supported; true ones are counted for comparison."
)
FISHED = (
    "Two equal arms and ten ways to try again: up to ten sweeps of ten seeds, or four looks at "
    "twenty, each through the book. Share of users in % who come to *supported* without it being "
    "exploratory; at most 2.5. Without a book: 6.5 (looks within the plan), 8.7 and 18.4 (one "
    "and two seeds dropped), 22.5 (ten replicates)."
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
