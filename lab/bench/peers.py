"""Compare `ablate` with other toolkits, each in a separate environment in cache/peers.

    python -m lab.bench.peers [data.root=FOLDER] [what=[PEER,...]] [rounds=5] [seconds=30]
        [warm_up=10] [threads=2] [run=RUN] [training_steps=600] [python=PYTHON]

Installs JoeyNMT, transformers (HF) and CTranslate2 from the package index. Measures training and
decoding of `ablate` and of each toolkit alternately, and writes the rows to lab/bench/results.json.
A toolkit that cannot be installed is left out with a message.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from ablate.errors import UserError
from lab.bench.command import exit_on_user_error, finish, options
from lab.bench.compare import DEFAULTS
from lab.bench.record import Row, keep, read, row
from lab.bench.setting import TINY, Setting
from lab.bench.table import table

ENVIRONMENTS = Path("cache/peers")
PINNED = ("torch", "numpy", "sacrebleu")  # with the versions in constraints.txt, for all toolkits


class Peer(NamedTuple):
    """A toolkit: its packages, the script that measures it, and what the script can measure."""

    title: str
    packages: tuple[str, ...]
    script: str
    trains: bool
    decodes: bool


PEERS = {
    # JoeyNMT imports importlib_metadata without declaring it as a dependency
    "joeynmt": Peer(
        "JoeyNMT",
        ("joeynmt==2.3.0", "importlib_metadata"),
        "lab/bench/peer_joeynmt.py",
        trains=True,
        decodes=False,
    ),
    "hf": Peer("HF MarianMTModel", ("transformers",), "lab/bench/peer_hf.py", True, True),
    "ctranslate2": Peer(
        "CTranslate2", ("ctranslate2",), "lab/bench/peer_ctranslate2.py", False, True
    ),
}


def install(name: str, python: str) -> Path | None:
    """Return the Python interpreter of a toolkit's environment; create it first if necessary.

    The result is None if the toolkit cannot be installed. The reason is printed.

    Args:
        name: a key of PEERS.
        python: interpreter that creates the environment.
    """
    folder = ENVIRONMENTS / name
    interpreter, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists():
        return interpreter
    print(f"installing {PEERS[name].title} into {folder}", flush=True)
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", *PINNED, *PEERS[name].packages]
    steps = ([python, "-m", "venv", "--clear", str(folder)], [*pip, "-c", str(constraints())])
    for step in steps:
        done = subprocess.run(
            step, capture_output=True, encoding="utf-8", errors="backslashreplace", check=False
        )
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"{PEERS[name].title} does not install and is left out: {why}", flush=True)
            return None
    ready.touch()
    return interpreter


def constraints() -> Path:
    """Write a constraints file with the versions that all environments share; return its path."""
    lines = Path("constraints.txt").read_text(encoding="utf-8").splitlines()
    chosen = [line for line in lines if line.split("==")[0] in PINNED]
    path = ENVIRONMENTS / "constraints.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return path


def compare(setting: Setting, name: str, interpreter: Path) -> list[Row]:
    """Measure and return all rows of a toolkit."""
    rows = train(setting, name, interpreter) if PEERS[name].trains else []
    if PEERS[name].decodes:
        rows += [decode(setting, name, interpreter, what) for what in ("greedy", "beam5")]
    return rows


def train(setting: Setting, name: str, interpreter: Path) -> list[Row]:
    """Compare speed and peak memory of training `model=tiny` in fp32; return two rows."""
    ours: list[dict[str, Any]] = []
    other: list[dict[str, Any]] = []

    def mine() -> float:
        ours.append(finish(setting.ours("train", TINY)))
        return float(ours[-1]["rate"])

    def theirs() -> float:
        other.append(_peer(setting, name, interpreter, "train"))
        return float(other[-1]["tgt_tok_s_mean"])

    settings = f"fp32; other: {PEERS[name].title}"
    rate = setting.alternate(f"train_tiny_fp32_{name}", mine, theirs, "target tokens/s", settings)
    peaks = (
        [run["peak_mib"] for run in ours],
        [run["peak_rss_mib"] for run in other],
    )
    return [rate, row(f"memory_train_{name}", *peaks, "MiB", settings)]


def decode(setting: Setting, name: str, interpreter: Path, what: str) -> Row:
    """Compare the speed of decoding; both sides have the same weights and stop at EOS.

    `what` is greedy or beam5.
    """
    mode = what.removesuffix("5")

    def mine() -> float:
        return setting.decoding(mode)

    def theirs() -> float:
        return float(_peer(setting, name, interpreter, mode, "--bleu")["sent_s"])

    workers = setting.options["threads"]
    settings = f"fp32, {workers} workers of one thread; other: {PEERS[name].title}"
    return setting.alternate(f"{what}_{name}", mine, theirs, "sentences/s", settings)


def _peer(setting: Setting, name: str, interpreter: Path, mode: str, *arguments: str) -> Any:
    return setting.baseline(mode, arguments, script=PEERS[name].script, python=str(interpreter))


@exit_on_user_error
def main() -> None:
    """Install and measure the selected toolkits, store the rows of each, and print the table."""
    defaults = {**DEFAULTS, "what": list(PEERS), "python": sys.executable}
    values, rest = options(sys.argv[1:], defaults, list(PEERS))
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(values, rest, Path(folder))
        for name in values["what"]:
            interpreter = install(name, values["python"])
            try:
                rows = compare(setting, name, interpreter) if interpreter else []
            except UserError as error:
                print(f"{PEERS[name].title} is left out: {error}", flush=True)
            else:
                keep(rows)
    print(table(read()))


if __name__ == "__main__":
    main()
