"""Execute code listings from documents in a restricted process: no network, no subprocesses, no
writing.
"""

import contextlib
import io
import json
import math
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

from experiments.listings.source import FORMS, Listing, source
from experiments.shared.child import answer

CPU_SECONDS, WALL_SECONDS = 120, 600
BYTES = 8 << 30  # limit of the address space; importing torch takes most of it
FORBIDDEN = (
    "socket.",
    "subprocess.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "ctypes.",
)
Form = dict[str, Any]  # the numbers of the exam, or "error" and "line" if the listing fails


def examine_listing(listing: Listing, documents: Path, *, draws: int, seed: int) -> dict[str, Form]:
    """Run three forms of a code listing of a document in a child process, and return for each form
    the numbers that compare the listing with this project's components.

    The forms are: as printed, patched so that the listing runs, and repaired. If a form fails, its
    error and the line number in the document take the place of the numbers.

    Args:
        listing: the description of the listing.
        documents: folder with the text files of the documents.
        draws: number of random weights and inputs for each form.
        seed: seed of both.

    Raises:
        UserError: no document in the folder has the text of the listing.
        RuntimeError: the process ended without a result.
    """
    sources = {form: source(listing, documents, form) for form in FORMS}
    results = examine(
        sources,
        exam=listing.exam,
        defines=listing.defines,
        options=listing.options,
        draws=draws,
        seed=seed,
    )
    lines_to_its_end = sources[FORMS[0]].count("\n") + 1
    for form in results.values():
        if form.get("line"):
            form["line"] += listing.lines[1] - lines_to_its_end
    return results


def examine(sources: dict[str, str], **exam: Any) -> dict[str, Form]:
    """Run every form of a code listing (as printed, patched so that it runs, repaired) in a child
    process. Return for each form the error that ended the code, or the numbers that the exam
    measures.

    An exam is a function that compares what the code defines with this project's components.

    Args:
        sources: the code of each form.
        exam: keyword arguments: `exam`, the name of the exam, and the other settings of `attempt`.

    Raises:
        RuntimeError: the process ended without a result.
    """
    question = {"sources": sources, **exam}
    results: dict[str, Form] = answer(__name__, question, "-I", timeout=WALL_SECONDS)
    return results


def main() -> None:
    """Run the code listing that standard input describes, and write the results to standard output,
    both as JSON.
    """
    question = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    sources = question.pop("sources")
    from experiments.listings.exams import (
        EXAMS,  # imported before the restrictions are active
    )

    exam = EXAMS[question.pop("exam")]
    given = surroundings()
    sys.addaudithook(refuse)
    with contextlib.redirect_stdout(io.StringIO()):
        results = {form: attempt(code, given, exam, **question) for form, code in sources.items()}
    print(json.dumps(results))


def surroundings() -> dict[str, Any]:
    """Return the names, such as torch and np, that code listings of documents expect to be
    defined. Set PyTorch's default type to float64, and its number of threads to 1.
    """
    import numpy
    import torch
    from torch.autograd import Variable

    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    return {
        **{"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math},
        **{"np": numpy, "Variable": Variable},
    }


def attempt(
    code: str,
    given: dict[str, Any],
    exam: Any,
    *,
    defines: str,
    options: dict[str, Any],
    draws: int,
    seed: int,
) -> Form:
    """Run the code of a listing, and compare what the code defines with this project's components
    by an exam. Return the largest value of each number over the draws, or the error that ended the
    code.

    For the number `perturbed`, the control, the smallest value is returned.

    Args:
        code: the code of the listing.
        given: names that are defined before the code runs.
        exam: function that compares what the code defines with this project's components.
        defines: name of the class or function in the code that is compared.
        options: arguments of the exam.
        draws: number of random weights and inputs.
        seed: seed of both.
    """
    import torch

    from experiments.shared.probe.draws import reduced

    scope = dict(given)
    try:
        exec(compile(code, "listing", "exec"), scope)  # its SHA-256 has been verified
        torch.manual_seed(seed)
        outcomes = (exam(scope[defines], **options) for _ in range(draws))
        return reduced(outcomes, smallest={"perturbed"})
    except Exception as error:  # noqa: BLE001  an error of the listing is its result
        return {"error": f"{type(error).__name__}: {error}", "line": line_of(error)}


def line_of(error: Exception) -> int | None:
    """Return the largest line number of a code listing in the traceback of an error; None if the
    traceback contains no line of the listing.

    For a syntax error, return the line of the error.
    """
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return max((f.lineno or 0 for f in frames if f.filename == "listing"), default=None)


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise PermissionError if a code listing that runs in this process does something forbidden,
    such as opening a file for writing.

    This function is an audit hook (sys.addaudithook); `event` and `arguments` are those of the
    audit event. Use it only in a process that runs nothing else: Python cannot remove an audit
    hook.
    """
    writes = event == "open" and str(arguments[1] or "r")[0] in "wax"
    if writes or event.startswith(FORBIDDEN):
        raise PermissionError(f"a listing may not do this: {event}")
