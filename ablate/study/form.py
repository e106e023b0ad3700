"""What the parts of evidence must be: what is read from files is not trusted to be well-formed."""

import json
import sys
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.study.outcome import STATUSES

NUMBER = (int, float)
WORDS = {
    str: "text",
    int: "a whole number",
    NUMBER: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    object: "there",
}
Form = dict[str, Any]  # of each key the type of its value
END: Form = {
    **dict.fromkeys(("identity", "status"), str),
    **dict.fromkeys(("metrics", "curve"), dict),
    **dict.fromkeys(("ended", "seconds"), NUMBER),
    "reused": bool,
}
RUN: Form = {
    **END,
    **dict.fromkeys(("arm", "command"), str),
    **dict.fromkeys(("levels", "versions"), dict),
    **dict.fromkeys(("cell", "seed"), int),
}
STUDY: Form = {
    **dict.fromkeys(("factors", "claims", "nuisance", "fixed", "published"), list),
    **dict.fromkeys(("expect", "literature"), str),
    "seeds": int,
}
CLAIM: Form = {
    **dict.fromkeys(("id", "statement", "source", "kind", "metric", "over", "scale"), str),
    **dict.fromkeys(("better", "margin_reason", "control"), str),
    **dict.fromkeys(("where", "treatment", "baseline", "minus"), dict),
    **dict.fromkeys(("margin", "alpha", "tolerance"), NUMBER),
}
PUBLISHED: Form = {**dict.fromkeys(("arm", "metric", "regime", "source"), str), "value": NUMBER}
MATCH: Form = {"by": str, "to": dict, "key": str}
TUNE: Form = {"key": str, "values": list, "seeds": list, "metric": str, "better": str}

REGIME: Form = {
    **dict.fromkeys(("scale", "data", "model", "device", "precision"), str),
    **dict.fromkeys(("d_model", "steps", "tokens_per_step", "threads"), int),
    "test_sentences": dict,
}
ASKED: Form = {"looks": list, "tried": list, "regimes": int}
REGISTRATION: Form = {"hash": str, "time": NUMBER, "earlier": list, "looks": int}


def check_about(path: Path, about: dict[str, Any]) -> None:
    """Raise UserError unless study.json holds a study with its regime and registration."""
    study = about["study"]
    check_form(f"{path}: study", study, STUDY)
    short = {"short": int} if "short" in about["regime"] else {}
    check_form(f"{path}: regime", about["regime"], REGIME | short)
    check_form(f"{path}: registration", about["registration"], REGISTRATION)
    for part, form in (("claims", CLAIM), ("published", PUBLISHED)):
        for number, item in enumerate(study[part], 1):
            check_form(f"{path}: study.{part}, number {number}", item, form)
    for part, form in (("tune", TUNE), ("match", MATCH)):
        if study.get(part) is not None:
            check_form(f"{path}: study.{part}", study[part], form)
    if study.get("looks") is not None:
        check_form(f"{path}: study", study, {"looks": int})
    _check_asked(f"{path}: registration.asked", about["registration"].get("asked", {}))
    if not all(isinstance(factor, str) for factor in study["factors"]):
        raise UserError(f"{path}: study.factors must be a list of text")


def _check_asked(where: str, asked: Any) -> None:
    """What the book said of each claim."""
    check_form(where, asked, {})
    for name, one in asked.items():
        check_form(f"{where}, {name}", one, ASKED)
        if not all(isinstance(seeds, list) for seeds in one["looks"]):
            raise UserError(f"{where}, {name}: looks must hold lists of seeds")


def read_runs(path: Path, factors: list[str]) -> list[dict[str, Any]]:
    """Return the runs of a file, one per line.

    Raises:
        UserError: the file is missing or damaged, a line is no run, or two are of one cell.
    """
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        raise UserError(f"{path} is missing: this is not the folder of a study") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    runs = [_parsed(f"{path}, line {number}", line) for number, line in enumerate(lines, 1)]
    check_runs(str(path), runs, factors)
    return runs


def check_runs(where: str, runs: list[Any], factors: list[str]) -> None:
    """Raise UserError for what is no run of a study with these factors, or is there twice."""
    seen: dict[str, int] = {}
    for number, run in enumerate(runs, 1):
        _check_run(f"{where}, run number {number}", run, factors)
        tuned = run.get("tuned", {}).get("value")
        cell = json.dumps([run["levels"], run["seed"], tuned], sort_keys=True)
        for key in (f"cell {run['cell']}", cell):
            if key in seen:
                raise UserError(
                    f"{where}: runs number {seen[key]} and {number} are of the same cell"
                )
            seen[key] = number


def check_form(where: str, value: Any, form: Form) -> None:
    """Raise UserError unless a value is an object with these keys, each of its type."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: it is no object but {_said(value)}")
    for key, kind in form.items():
        if key not in value:
            raise UserError(f"{where}: {key} is missing; it must be {WORDS[kind]}")
        if not _is(value[key], kind):
            raise UserError(f"{where}: {key}={_said(value[key])}; it must be {WORDS[kind]}")


def _parsed(where: str, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} cannot be read: {error}") from None


def _check_run(where: str, run: Any, factors: list[str]) -> None:
    check_form(where, run, RUN)
    _check_end(where, run)
    check_form(f"{where}, levels", run["levels"], dict.fromkeys(factors, object))
    if "short" in run:
        check_form(f"{where}, short", run["short"], END)
        _check_end(f"{where}, short", run["short"])
    if "matched" in run:
        check_form(where, run, {"matched": dict})
    if "update_seconds" in run:
        check_form(where, run, {"update_seconds": NUMBER})
    if "tuned" in run:
        check_form(f"{where}, tuned", run["tuned"], {"key": str, "value": object})
    if run["status"] == "failed":
        check_form(where, run, {"error": str})


def _check_end(where: str, end: dict[str, Any]) -> None:
    """What became of a run at one of its budgets."""
    if end["status"] not in STATUSES:
        raise UserError(f"{where}: status={_said(end['status'])}; allowed is {', '.join(STATUSES)}")
    for metric, value in end["metrics"].items():
        if value is not None and not _is(value, NUMBER):
            raise UserError(
                f"{where}: metrics, {metric}={_said(value)}; it must be a finite number or null"
            )
    _check_curve(where, end["curve"])


def _check_curve(where: str, curve: dict[str, Any]) -> None:
    """Lists of numbers, all of one length."""
    lists = all(isinstance(values, list) for values in curve.values())
    if not lists or len({len(values) for values in curve.values()}) > 1:
        raise UserError(f"{where}: curve does not hold lists of one length")
    if not all(x is None or _is(x, NUMBER) for values in curve.values() for x in values):
        raise UserError(f"{where}: curve holds what is no number")


def _is(value: Any, kind: Any) -> bool:
    if kind in (int, NUMBER):
        largest = sys.float_info.max  # NaN compares as false
        return not isinstance(value, bool) and isinstance(value, kind) and abs(value) <= largest
    return isinstance(value, kind)


def _said(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
