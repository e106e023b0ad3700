"""Return verdicts on a table of runs that other programs made, or on a sweep in another metric.

The runs become evidence, and the question about them becomes the claims of a study, which are
judged as for a sweep.
"""

import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.config import combinations, study
from ablate.config.labels import use_labels
from ablate.config.study import Levels
from ablate.errors import UserError, make_console, name_hint
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import Reason, reason
from ablate.evidence.sources import read
from ablate.evidence.tables import Row, Source
from ablate.metric import RESULT, metric_of
from ablate.phrases import in_sentence, listed
from ablate.record.files import finite
from ablate.referee.question import Claim, Question, question_of, read_question
from ablate.referee.runs import Rows, Runs, matching_labels, number_of, numbers, runs_of, texts
from ablate.report.content import announce
from ablate.verdict.conclude import conclude
from ablate.verdict.types import Verdict
from ablate.words.answer import statement, with_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 100_000  # of a printed verdict, so that no line is broken
ALL_RUNS = "all runs"  # the only arm of a table without a column of arms
MOST_NAMED = 5  # largest number of columns in a sentence
CONTRAST = ("treatment", "baseline", "where", "minus")  # keys of a claim that name its runs
OF_SWEEP = ("metric", "better", "kind", "margin", "alpha")  # what a question about a sweep may set
FIELDS = ("id", "kind", "margin", "tolerance", "margin_reason", "source", "over", "scale")
# fields of a sweep's run that a table does not have
UNKNOWN = {
    **{"identity": "", "curve": {}, "reused": False, "ended": 0.0, "seconds": 0.0},
    **{"command": "", "versions": {}},
}


class Comparison:
    """The verdicts on the claims about runs, with their headlines, which can be printed, drawn,
    converted to plain data, and written to a folder.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.verdict: Verdict = with_words(conclude(evidence))

    def __str__(self) -> str:
        use_labels(self.evidence.registration.get("labels", {}))
        file = io.StringIO()
        announce(make_console(file=file, width=WIDTH), self.verdict)
        return file.getvalue().strip()

    def to_dict(self) -> Row:
        """Return everything as plain data, as in verdict.json. A positive effect is better."""
        return finite(dict(self.verdict))

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per claim: verdict, effect, interval and p-values."""
        keys = ("id", "reading", "verdict", "grade", "effect", "margin", "method", "headline")
        rows = []
        for claim in self.to_dict()["claims"]:
            low, high = claim["interval"] or (None, None)
            p = {f"p {side}": value for side, value in claim["p"].items()}
            rows.append({**{key: claim.get(key) for key in keys}, "low": low, "high": high, **p})
        return pd.DataFrame(rows)

    def plot(self) -> "Figure":
        """Return a figure with the effect of every claim; without an effect, with every run."""
        from ablate.report.write import figures

        use_labels(self.evidence.registration.get("labels", {}))
        return next(figures(self.evidence, self.verdict)).picture

    def write(self, folder: Path) -> None:
        """Write verdict.json, report.md and the figures into a folder."""
        from ablate.report.write import write_report

        use_labels(self.evidence.registration.get("labels", {}))
        write_report(self.evidence, folder, self.verdict)


def compare(runs: Any, **asked: Any) -> Comparison:
    """Return the verdict on a source of runs; `ablate.compare` documents the arguments."""
    return _compare(runs, question_of(asked))


def judge(runs: Any, study: str | PathLike[str] | Mapping[str, object]) -> Comparison:
    """Return the verdicts of a study on the runs of a source; `ablate.judge` documents the
    arguments.
    """
    if isinstance(study, Mapping):
        return _compare(runs, question_of(study))
    return _compare(runs, read_question(Path(study).expanduser()))


def compare_sweep(evidence: Evidence, asked: Row) -> Comparison:
    """Return the verdicts on the arms of a sweep. They are exploratory, because the metric was
    chosen after the runs. `asked` has values of the keys in `OF_SWEEP`.

    Raises:
        UserError: another key is given, or no run has the metric.
    """
    if other := asked.keys() - {*OF_SWEEP}:
        options = listed([f"--{name}" for name in OF_SWEEP])
        raise UserError(f"{min(other)}: a sweep has its own arms and pairs; it takes {options}")
    use_labels(evidence.registration.get("labels", {}))
    metrics = sorted({metric for run in evidence.runs for metric in run["metrics"]})
    if (metric := str(asked.get("metric"))) not in metrics:
        raise UserError(f"metric={metric}: {name_hint(metric, metrics)}")
    about, claims = metric_of(metric), dict[str, Row]()
    for claim in evidence.study["claims"]:
        arms: Row = {key: value for key, value in claim.items() if key in CONTRAST}
        if arms["treatment"] and arms["baseline"]:
            question = question_of({"better": about.better, **asked, **arms})
            chosen = question.claims[0].model_dump(include={"kind", "margin"})
            entry = {**study.USUAL[study.Claim], **chosen, **arms, "id": claim["id"], "source": ""}
            entry |= {"metric": metric, "alpha": question.alpha, "better": question.better}
            named = statement({**entry, "target": None, "measures": about.title}, in_sentence)
            claims.setdefault(str(arms), {**entry, "statement": named})
    later: Any = {"study": {**evidence.study, "claims": [*claims.values()]}}
    later["registration"] = {**evidence.registration, "hash": ""}
    return Comparison(replace(evidence, **later))


def _compare(runs: Any, question: Question) -> Comparison:
    evidence = evidence_of(read(runs, question.columns), question)
    if not evidence.study["claims"]:
        raise UserError("there is no claim: name a baseline that has another arm, or a target")
    return Comparison(evidence)


def evidence_of(source: Source, question: Question) -> Evidence:
    """Return the runs of a source as evidence, and the question about them as a study.

    Raises:
        UserError: a column is missing or has a wrong value, or a claim names an arm without runs.
    """
    runs = runs_of(source, question)
    table = _Table(runs, question)
    claims = [*table.claims()]
    return Evidence.synthetic(
        {
            **{**study.USUAL[study.Study], "factors": [*table.names], "seeds": 1},
            **{"claims": claims, **table.design()},
        },
        table.evidence(),
        name=question.name,
        regime={"corpus": source.name},
        registration={"labels": table.labels, "hash": "", "time": 0.0, "earlier": []},
        notes=[*runs.notes, *table.twins],
    )


def _baseline_levels(claim: Claim, factors: tuple[str, ...]) -> Levels:
    """Return the baseline of a claim as a level for each factor; a text A,B,... has a level for
    each factor, in their order.

    Raises:
        UserError: the number of levels in a text differs from the number of factors.
    """
    if isinstance(claim.baseline, Mapping):
        return dict(claim.baseline)
    values = str(claim.baseline).split(",")
    if len(values) != len(factors):
        raise UserError(f"baseline={claim.baseline}: give a value for each of {', '.join(factors)}")
    return dict(zip(factors, values, strict=True))


class _Table:
    """The runs of a table, with the names by which claims select them.

    `names` has the columns of names: of the arms, of the datasets, and of the values by which
    claims select runs. `arms` has the name of each run's arm. `labels` has the label of each value
    of the columns: the name of an arm as it is written, another value with its column.
    """

    def __init__(self, runs: Runs, question: Question) -> None:
        self.question, self.results = question, runs.results
        self.arm_columns = question.arm or (ALL_RUNS,)
        self.frame = runs.frame if question.arm else runs.frame.assign(**{ALL_RUNS: ALL_RUNS})
        columns = [*self.arm_columns, question.group, *question.level_columns]
        self.names = {name: texts(self.frame, name) for name in dict.fromkeys(columns) if name}
        first, *rest = parts = [self.names[column] for column in self.arm_columns]
        joined = first.str.cat(rest, sep=" ") if rest else first
        self.arms = joined.where(~np.logical_or.reduce([part == "" for part in parts]), "")
        self.labels = {
            f"{column}={name}": name if column in self.arm_columns else f"{column}={name}"
            for column, names in self.names.items()
            for name in names.unique()
        }

    @property
    def twins(self) -> Iterator[Reason]:
        """A remark for each number that is written as several names."""
        for column in dict.fromkeys([*self.names, *filter(None, [self.question.pair])]):
            names = pd.Series(sorted(texts(self.frame, column).unique()))
            for _, same in names.groupby(names.map(number_of)):
                if len(same) > 1:
                    yield reason("twins", column=column, names=same.tolist())

    def evidence(self) -> Iterator[Row]:
        """Yield the runs, in the form of the runs of a sweep.

        The seed of a run is the number of its pair. A run without a name in the column of pairs is
        left out, because it is in no pair. Without pairs, each run has its own seed.
        """
        columns: dict[str, list[Any]] = {name: x.tolist() for name, x in self.names.items()}
        for over in filter(None, (claim.over for claim in self.question.claims)):
            values = numbers(self.frame, over).tolist()
            columns[over] = [x if math.isfinite(x) else None for x in values]
        seeds: list[Any] = [*range(len(self.frame))]
        if self.question.pair:
            pairs = texts(self.frame, self.question.pair)
            whole = all(name == str(int(name)) for name in pairs if name.isdecimal())
            place = {name: k for k, name in enumerate(sorted({*pairs} - {""}))}
            whole = whole and all(name.isdecimal() for name in place)
            seeds = [(int(name) if whole else place[name]) if name else None for name in pairs]
        for row, result in enumerate(self.results.tolist()):
            if seeds[row] is not None:
                levels = {name: cells[row] for name, cells in columns.items()}
                yield {
                    **UNKNOWN,
                    **{"cell": row, "seed": seeds[row], "levels": levels},
                    "arm": " ".join(map(str, levels.values())),
                    "status": "diverged" if math.isnan(result) else "finished",
                    "metrics": {RESULT: None if math.isnan(result) else result},
                }

    def claims(self) -> Iterator[Row]:
        """Yield every claim in the form of a study, once for each treatment and each dataset."""
        if self.question.design:
            yield from (self._claim(x, {}) for y in self.question.claims for x in self._changes(y))
            return
        group = self.question.group
        datasets = sorted({*self.names[group]} - {""}) if group else [""]
        for claim in self.question.claims:
            for each in self._with_treatments(claim):
                for dataset in datasets:
                    yield self._claim(each, {group: dataset} if group else {})

    def design(self) -> Row:
        """Return the design of a study of combinations; {} for another study.

        The first level of a factor is that of the baseline, or the first in the table.

        Raises:
            UserError: a factor has one level, or there are too few runs for the effects.
        """
        if not self.question.design:
            return {}
        levels: Row = {f: {str(x): {} for x in self._ordered_levels(f)} for f in self.arm_columns}
        design = {"design": combinations.DESIGN, "recipes": len(self.frame), "levels": levels}
        complete: Any = study.USUAL[study.Study] | design
        combinations.check(complete)
        return design

    def _ordered_levels(self, factor: str) -> list[object]:
        """Return the levels of a factor; the levels of baselines come first."""
        first = [_baseline_levels(claim, self.arm_columns) for claim in self.question.claims]
        named = [self._levels({factor: x[factor]})[factor] for x in first if factor in x]
        return [*dict.fromkeys([*named, *filter(None, self.names[factor].unique())])]

    def _changes(self, claim: Claim) -> Iterator[Claim]:
        """Yield the claim about every level of every factor against the first level."""
        for factor in self.arm_columns:
            first, *changed_levels = self._ordered_levels(factor)
            for level in changed_levels:
                arms = {"treatment": {factor: level}, "baseline": {factor: first}}
                yield claim.model_copy(update={"id": f"{factor}={level}", **arms})

    def _claim(self, claim: Claim, where: Levels) -> Row:
        question, failed = self.question, claim.kind == "stability"
        treatment = self._arm(claim.treatment)
        where = {**where, **self._levels(claim.where)}
        if claim.kind == "trend":
            where, treatment = {**where, **treatment}, {}
        lower = question.is_lower_better or failed
        entry = {
            **study.USUAL[study.Claim],
            **{name: getattr(claim, name) for name in FIELDS},
            **{"where": where, "minus": self._levels(claim.minus), "treatment": treatment},
            "baseline": {} if claim.baseline is None else self._arm(claim.baseline),
            **{"alpha": claim.alpha or question.alpha, "plan_for": claim.plan_for},
            "reading": str(where.get(question.group, "")),
            "metric": "unstable" if failed else RESULT,
            "measures": "failed runs" if failed else question.measured,
            "better": "lower" if lower and claim.kind != "exact" else "higher",
            "design": "paired" if question.pair else "unpaired",
            "target": claim.target,
            "test": question.test or ("corrected" if question.pair else "textbook"),
        }
        if claim.target is not None:
            entry["design"] = "one sample"
        entry["statement"] = claim.statement or statement(entry, self._label)
        return {**entry, "doubts": [*self._doubts(claim, entry)]}

    def _label(self, levels: Levels) -> str:
        return listed([self.labels.get(f"{column}={x}", x) for column, x in levels.items()])

    def _rows(self, levels: Levels) -> Rows:
        chosen = [(self.names[column] == name).to_numpy() for column, name in levels.items()]
        return np.logical_and.reduce([np.ones(len(self.frame), dtype=bool), *chosen])

    def _levels(self, given: Mapping[str, object], *, single: bool = False) -> Levels:
        """Return values by column as the names that the cells have.

        A number selects every spelling, whose cells get the same name; with `single`, several
        spellings are an error.

        Raises:
            UserError: no cell has the value.
        """
        levels: Levels = {}
        for column, value in given.items():
            spellings = self._known(self.names[column], value, column, single=single)
            levels[column] = spellings[0]
            same = self.names[column].isin(spellings)
            self.names[column] = self.names[column].where(~same, spellings[0])
        return levels

    @staticmethod
    def _known(names: pd.Series, value: Any, columns: str, *, single: bool = True) -> list[str]:
        spellings = matching_labels(filter(None, names.unique()), value)
        if not spellings:
            raise UserError(f"{value}: no run has this value in {columns}")
        if single and len(spellings) > 1:
            raise UserError(f"{value}: there are {listed(sorted(spellings))}; write it as a text")
        return spellings

    def _arm(self, arm: Any) -> Levels:
        """Return the levels of an arm, given as a name or as values by column."""
        if isinstance(arm, Mapping):
            return self._levels(arm, single=True)
        if arm is None:
            return {} if self.question.arm else {ALL_RUNS: ALL_RUNS}
        (name,) = self._known(self.arms, arm, listed([*self.arm_columns]))
        parts = pd.DataFrame({column: self.names[column] for column in self.arm_columns})
        levels = parts[self.arms == name].drop_duplicates()
        if len(levels) > 1:
            raise UserError(f"{arm}: several arms have this name; give the value of each column")
        return dict(levels.iloc[0])

    def _with_treatments(self, claim: Claim) -> Iterator[Claim]:
        """Yield the claim; if it names no treatment, a copy for each arm without a run of the
        baseline.
        """
        if claim.treatment is not None or claim.kind == "trend" or not self.question.arm:
            yield claim
            return
        of_baseline = {*self.arms[self._rows(self._arm(claim.baseline))]}
        arms = sorted({*self.arms} - {""} - (of_baseline if claim.target is None else set()))
        for arm in arms:
            name = arm if len(arms) > 1 else claim.id
            yield claim.model_copy(update={"treatment": arm, "id": name})

    def _doubts(self, claim: Claim, entry: Row) -> Iterator[Reason]:
        """Yield remarks on the runs of the arms of a claim."""
        arms = [self._rows({**entry["where"], **entry["treatment"]})]
        if claim.kind == "trend":
            without = ~np.isfinite(numbers(self.frame, claim.over)[arms[0]])
            if without.any():
                counts = {"runs": int(without.sum()), "of": len(without)}
                yield reason("no_level", over=claim.over, **counts)
        if entry["baseline"]:
            arms.append(self._rows({**entry["where"], **entry["baseline"]}))
            if min(rows.sum() for rows in arms) > 1:
                yield from self._other_columns(*arms)

    def _other_columns(self, first: Rows, second: Rows) -> Iterator[Reason]:
        """Yield a remark on columns that are constant within each arm but differ between the arms.

        A column that only repeats the names of the arms is left out.
        """
        differing = []
        for column in self.frame.columns.difference([*self.question.columns, ALL_RUNS], sort=False):
            cells = texts(self.frame, column)
            a, b = (cells[rows].unique() for rows in (first, second))
            if len(a) == len(b) == 1 and a[0] != b[0] and not cells.equals(self.arms):
                differing.append(f"{column} ({a[0] or 'nothing'} against {b[0] or 'nothing'})")
        if differing:
            yield reason("other_columns", columns=differing[:MOST_NAMED])
