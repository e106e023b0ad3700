"""The lines of runs.jsonl, one per run: what it, or the line before it, says already is left out.

versions          not where they are those of the line before
short: metrics    only those that the run had not at its end as well; `without` names others that
                  it had at its end alone
short: curve      only its number of points, where they are the first ones of the curve of the run
What is read is not trusted to be well-formed; ablate.evidence.form looks at that.
"""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

VERSIONS, SHORT = "versions", "short"
METRICS, WITHOUT, CURVE, POINTS = "metrics", "without", "curve", "points"
Line = dict[str, Any]


def written(runs: Iterable[Any]) -> list[Line]:
    """The lines of runs."""
    lines, before = [], None
    for run in runs:
        line = {key: x for key, x in run.items() if key != VERSIONS or x != before}
        lines.append(line | {SHORT: _shorter(run[SHORT], run)} if SHORT in run else line)
        before = run.get(VERSIONS)
    return lines


def read(lines: list[Any]) -> list[Any]:
    """The runs of lines; what is no run stays as it is."""
    for before, line in pairwise(lines):
        if isinstance(before, dict) and isinstance(line, dict) and VERSIONS in before:
            line.setdefault(VERSIONS, before[VERSIONS])
    return [_whole(line) if _can_be_whole(line) else line for line in lines]


def _shorter(short: Line, run: Line) -> Line:
    metrics, ended = short[METRICS], run[METRICS]
    own = {name: x for name, x in metrics.items() if name not in ended or not _same(ended[name], x)}
    alone = [name for name in ended if name not in metrics]
    curve = {POINTS: _points(short[CURVE])} if _begins(run[CURVE], short[CURVE]) else short[CURVE]
    return {**short, METRICS: own, **({WITHOUT: alone} if alone else {}), CURVE: curve}


def _whole(line: Line) -> Line:
    short, ended = dict(line[SHORT]), line[METRICS]
    alone = short.pop(WITHOUT, [])
    shared = {name: x for name, x in ended.items() if name not in alone}
    short[METRICS] = shared | short[METRICS]
    if isinstance(points := short[CURVE].get(POINTS), int):
        short[CURVE] = {name: values[:points] for name, values in line[CURVE].items()}
    return {**line, SHORT: short}


def _can_be_whole(line: Any) -> bool:
    """Whether a line has a short budget, and all that is looked into is of its form."""
    short = line.get(SHORT) if isinstance(line, dict) else None
    if not isinstance(short, dict):
        return False
    parts = [end.get(part) for end in (line, short) for part in (METRICS, CURVE)]
    lists = [short.get(WITHOUT, []), *(line[CURVE].values() if isinstance(parts[1], dict) else [])]
    return all(isinstance(part, dict) for part in parts) and all(isinstance(x, list) for x in lists)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are written alike."""
    return json.dumps(one) == json.dumps(other)


def _points(curve: Line) -> int:
    return max(map(len, curve.values()), default=0)


def _begins(whole: Line, part: Line) -> bool:
    """Whether a curve is the first points of another."""
    points = _points(part)
    return points > 0 and {name: values[:points] for name, values in whole.items()} == part
