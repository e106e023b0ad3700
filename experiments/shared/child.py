"""Run a function of the catalogue in a new process that answers one question."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).resolve().parents[2])  # the folder from which modules are named


def answer(module: str, question: object, *flags: str, timeout: float | None = None) -> Any:
    """Run the function `main` of a module in a new Python process, and return its answer.

    The function reads the question from standard input and prints the answer, both as JSON.

    Args:
        module: name of the module.
        question: the question.
        flags: flags of the interpreter.
        timeout: limit in seconds.

    Raises:
        RuntimeError: the process ended without an answer.
    """
    search = f"import sys; sys.path.append({ROOT!r})"
    done = subprocess.run(
        [sys.executable, *flags, "-c", f"{search}; from {module} import main; main()"],
        input=json.dumps(question),
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the process of {module} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)
