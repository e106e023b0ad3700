"""Register a question before its runs: write a sealed, dated copy beside the study file.

The seal is a digest of the date and of the fields that decide the verdict. It detects careless
edits, but it is not a signature. It detects neither a wrong clock nor a seal that was computed
again after a change. A commit of the copy to a public repository is better evidence of its date.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import EMPTY, NUMBER, Column, Numbers, Row, label_of
from ablate.phrases import listed
from ablate.record.files import seal, write_json
from ablate.record.sealed import read_sealed
from ablate.referee.question import Claim, Design, Question
from ablate.referee.reading import read_question
from ablate.referee.runs import Runs

# fields that do not affect a verdict
WORDING = ("id", "statement", "source", "margin_reason", "plan_for")
NOT_REGISTERED = "not registered"
# the time zones in which a time without a zone is earliest and latest
ZONES = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
LATEST = 1e11  # seconds since 1970, in the year 5138; a larger number is in other units


@dataclass(frozen=True)
class Registered:
    """The result of the check whether a question was registered before its runs.

    Args:
        holds: whether the question was registered before the first run that is judged.
        sentence: the result as a sentence, with the reason.
        time: time of the registration, in seconds since 1970; None if it was not registered.
    """

    holds: bool
    sentence: str
    time: float | None = None


def copy_of(study: Path) -> Path:
    """Return the path of the sealed copy of a study file."""
    return study.with_suffix(".registered.json")


def register(study: Path, now: float | None = None) -> Path:
    """Write the sealed, dated copy of a study file, and return its path.

    `now` is the time in seconds since 1970; None for the current time.

    Raises:
        UserError: the study is malformed, or was registered before.
    """
    question, path = read_question(study), copy_of(study)
    if path.exists():
        same = _registered(path)[1] == _deciding(question)
        changed = "" if same else ", in another form"
        raise UserError(
            f"{path} exists, so the question was registered before{changed}: write a new question "
            "to a new file"
        )
    moment = time.time() if now is None else now
    write_json(path, seal({"registered": moment, "decides": _deciding(question)}))
    return path


def registration(study: Path | None, question: Question, runs: Runs) -> Registered:
    """Return whether a question was registered before its runs, with the reason.

    The sealed copy of the study file decides.

    Raises:
        UserError: the copy was changed after it was sealed, or a start time is malformed.
    """
    if study is None or not copy_of(study).exists():
        how = "" if study is None else f" (ablate register {study.name} does it before the runs)"
        doubt = f"{NOT_REGISTERED}{how}: the question may be younger than the runs."
        return Registered(False, doubt)
    moment, before = _registered(copy_of(study))
    if doubt := _doubt(before, _deciding(question), moment, runs):
        return Registered(False, f"{NOT_REGISTERED}{doubt}.", moment)
    sentence = f"registered on {_day(moment)}, before the first run was started."
    return Registered(True, sentence, moment)


def _registered(copy: Path) -> tuple[float, Row]:
    """Return the time of a registration, in seconds since 1970, and the fields that affect the
    verdict as they were registered.

    A field that the version of ablate that registered the question did not have gets its default.
    """
    sealed = read_sealed(copy, "restore it from a copy")
    usual = _deciding(Question(Design("", ""), (Claim(),)))
    claims = [{**usual["claims"][0], **claim} for claim in sealed["decides"]["claims"]]
    return float(sealed["registered"]), {**usual, **sealed["decides"], "claims": claims}


def _doubt(before: Row, now: Row, moment: float, runs: Runs) -> str:
    """Return why a registration does not count, as the end of a sentence; "" if it counts.

    Args:
        before: the fields that affect the verdict, as they were registered.
        now: these fields of the question that is asked.
        moment: time of the registration.
        runs: the runs that are judged.
    """
    if changed := [key for key in now if before.get(key) != now[key]]:
        return f" in this form: {', '.join(changed)} changed since {_day(moment)}"
    name = runs.design.started
    if not name:
        return f": the question is of {_day(moment)}, but no column says when runs were started"
    column = runs.table.column(name, "started")
    earliest, latest = (times(column, name, zone) for zone in ZONES)
    reasons = [*_reasons(earliest, latest, moment)]
    return f": the question dates from {_day(moment)}, but {listed(reasons)}" if reasons else ""


def _reasons(earliest: Numbers, latest: Numbers, moment: float) -> Iterator[str]:
    """Yield the reasons why some runs may have been started before a question was registered.

    Args:
        earliest: first possible start time of each run, in seconds since 1970; NaN if unknown.
        latest: last possible start time of each run.
        moment: time of the registration.
    """
    if before := int((latest < moment).sum()):
        yield f"{before} runs were started before"
    if doubtful := int((earliest < moment).sum()) - before:
        yield (
            f"{doubtful} runs may have been started before, because their start times have no "
            "time zone"
        )
    if unknown := int(np.isnan(latest).sum()):
        yield f"{unknown} runs have no start time"


def times(column: Column, name: str, zone: tzinfo) -> Numbers:
    """Return a column of numbers or dates as seconds since 1970; NaN for empty cells.

    Args:
        column: the column.
        name: name of the column, for error messages.
        zone: time zone of dates that have none.

    Raises:
        UserError: a text is not a date, or a number is too large to be in seconds.
    """
    if (column.numbers > LATEST).any():
        raise UserError(
            f"started={name}: {np.nanmax(column.numbers):.15g} is no time in seconds since 1970; "
            "divide milliseconds by 1000"
        )
    seconds = np.where(column.codes == NUMBER, column.numbers, np.nan)
    of_text = np.array([_seconds(text, name, zone) for text in column.texts] or [np.nan])
    texts = column.codes >= 0
    seconds[texts] = of_text[column.codes[texts]]
    seconds[column.codes == EMPTY] = np.nan
    return seconds


def _seconds(text: str, name: str, zone: tzinfo) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UserError(
            f"started={name}: {text!r} is not a time; use seconds since 1970 or ISO dates"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def _deciding(question: Question) -> Row:
    """Return the fields of a question that affect the verdict, as plain data."""
    claims = [
        {key: value for key, value in asdict(claim).items() if key not in WORDING}
        for claim in question.claims
    ]
    design = {key: value for key, value in asdict(question.design).items() if key != "name"}
    design["noise"]["arms"] = [*map(label_of, question.design.noise.arms)]
    plain: Row = json.loads(
        json.dumps({**design, "claims": claims}, default=str).replace("Infinity", "null")
    )
    return plain


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"
