"""Measure speed and memory for a corpus of millions of sentence pairs.

    python -m lab.bench.corpus [pairs=5000000] [small=10000] [seed=1] [folder=FOLDER] [out=FILE]

Generates a small and a large corpus. For each corpus, three phases run in separate processes: build
the cache, pass once through the training batches, and train a small model for 20 steps. `own` is
the peak of the private memory of a process (RssAnon, read every 10 ms). `resident` is the peak of
its resident memory, which includes mapped files. Bytes per pair are the additional memory of the
large corpus divided by the number of additional pairs. Prints one JSON line, and writes the line to
`out`. The files are in a temporary folder in `folder`.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
from omegaconf import OmegaConf

from ablate.config.schema import Batching
from ablate.data.cache import open_cache
from ablate.data.module import TextData
from ablate.data.parallel import Parallel
from ablate.data.scheme import Bpe
from ablate.errors import UserError
from ablate.task.translation import Translation
from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve
from lab.bench.command import environment, exit_on_user_error, finish, start
from lab.bench.ours import compose, fit

DEFAULTS = {"pairs": 5_000_000, "small": 10_000, "seed": 1, "folder": None, "out": None}
SMALLEST = 4_000  # number of pairs that is enough for a vocabulary of VOCAB_SIZE
VOCAB_SIZE = 8_000
WORDS = 10_000  # number of words of each language
LENGTHS = range(4, 17)  # words of a source; a target has up to two words more or fewer
CHUNK = 100_000  # pairs generated at a time
STEPS = 20  # training steps
LANGUAGES = ("aa", "bb")


@exit_on_user_error
def main() -> None:
    """Measure all phases; if the first argument names a phase, run this phase in this process."""
    first, *rest = sys.argv[1:] or [""]
    if first in PHASES:
        print(json.dumps(PHASES[first](Path(*rest))))
        return
    sizes = given(sys.argv[1:])
    with tempfile.TemporaryDirectory(dir=sizes["folder"]) as folder:
        figures = measure(sizes, Path(folder))
    line = json.dumps({"pairs": sizes["pairs"], "small": sizes["small"], **figures})
    print(line)
    if sizes["out"]:
        Path(sizes["out"]).write_text(line + "\n", encoding="utf-8")


def given(arguments: list[str]) -> dict[str, Any]:
    """Return the value of every option, from arguments of the form key=value.

    Raises:
        UserError: an option is unknown, or a size is out of range.
    """
    options: Any = OmegaConf.to_container(OmegaConf.from_dotlist(arguments))
    for key in options:
        if key not in DEFAULTS:
            raise UserError(f"There is no option {key}; allowed is {', '.join(DEFAULTS)}.")
    values = {**DEFAULTS, **options}
    if not SMALLEST <= values["small"] < values["pairs"]:
        raise UserError(
            f"small={values['small']} pairs={values['pairs']}: small must be at least {SMALLEST}, "
            "and pairs larger."
        )
    return values


def measure(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run all phases on both corpora, and return the measurements of each phase.

    Returns:
        pairs_per_second, seconds: speed and duration for the large corpus.
        own_mib, resident_mib: peaks of memory for the large corpus.
        own_bytes_per_pair, resident_bytes_per_pair: additional memory for each additional pair.
    """
    sizes = {"small": values["small"], "large": values["pairs"]}
    measured = {}
    for name, pairs in sizes.items():
        (folder / name).mkdir()
        generate(folder / name, pairs, values["seed"])
        measured[name] = {phase: run(phase, folder / name) for phase in PHASES}
    more = sizes["large"] - sizes["small"]
    figures = {}
    for phase in PHASES:
        small, large = measured["small"][phase], measured["large"][phase]
        figures[phase] = {
            "pairs_per_second": large["pairs"] / large["seconds"],
            "seconds": large["seconds"],
            **{f"{kind}_mib": large[kind] / 2**20 for kind in ("own", "resident")},
            **{
                f"{kind}_bytes_per_pair": (large[kind] - small[kind]) / more
                for kind in ("own", "resident")
            },
        }
    return figures


def generate(folder: Path, pairs: int, seed: int) -> None:
    """Write sentence pairs of random words to the files train.aa and train.bb in a folder.

    Word frequencies are roughly those of Zipf's law: inversely proportional to the word's rank.
    """
    random = np.random.default_rng(seed)
    files = [(folder / f"train.{language}").open("wb") for language in LANGUAGES]
    tables = [lexicon(random) for _ in files]
    for begin in range(0, pairs, CHUNK):
        lengths = random.integers(LENGTHS.start, LENGTHS.stop, min(CHUNK, pairs - begin))
        for file, table in zip(files, tables, strict=True):
            words = (WORDS ** random.random(lengths.sum())).astype(np.int64) - 1
            words[lengths.cumsum() - 1] += WORDS  # the same words with a line feed
            file.write(b"".join(table[words]))
            lengths = np.maximum(LENGTHS.start, lengths + random.integers(-2, 3, len(lengths)))
    for file in files:
        file.close()


def lexicon(random: np.random.Generator) -> Any:
    """Return an array of WORDS random words with a space, then the same words with a line feed."""
    letters = random.integers(ord("a"), ord("z") + 1, (WORDS, 8), np.uint8)
    lengths = random.integers(2, 9, WORDS)
    words = [row[:length].tobytes() for row, length in zip(letters, lengths, strict=True)]
    return np.array([word + end for end in (b" ", b"\n") for word in words], dtype=object)


def run(phase: str, folder: Path) -> dict[str, float]:
    """Run a phase in a new process, and return its results with its peak of private memory.

    Returns:
        pairs: number of processed pairs.
        seconds: duration of the phase.
        resident: peak of resident memory in bytes.
        own: peak of private memory in bytes.

    Raises:
        UserError: the phase has failed.
    """
    process = start(["-m", "lab.bench.corpus", phase, str(folder)], environment(1))
    private = 0
    while process.poll() is None:
        private = max(private, memory(process.pid, "RssAnon"))
        time.sleep(0.01)
    return {**finish(process), "own": private}


def memory(process: int | str, kind: str) -> int:
    """Return a number of bytes from /proc/PROCESS/status; 0 if the process has ended.

    `kind` is the name of the line, such as "RssAnon".
    """
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) << 10 for line in status if line.startswith(kind)), 0)


def build(folder: Path) -> dict[str, float]:
    """Build the vocabulary and the cache; return pairs, seconds and peak resident memory."""
    begin = time.perf_counter()
    cache = open_cache(folder, corpus(folder), scheme())
    seconds = time.perf_counter() - begin
    pairs = sum(len(cache.split(split)[0].lengths(1)) for split in corpus(folder).splits)
    return {"pairs": pairs, "seconds": seconds, "resident": memory("self", "VmHWM")}


def one_pass(folder: Path) -> dict[str, float]:
    """Pass through the batches of an epoch; return pairs, seconds and peak resident memory."""
    data = TextData(
        corpus=corpus(folder),
        scheme=scheme(),
        collate=Translation().batch,
        batch=Batching(),
        cache_dir=str(folder),
        seed=1,
    )
    data.prepare()
    begin = time.perf_counter()
    pairs = sum(len(batch.lines) for batch in data.train_dataloader())
    seconds = time.perf_counter() - begin
    return {"pairs": pairs, "seconds": seconds, "resident": memory("self", "VmHWM")}


class Pairs(pl.Callback):
    """Counts the sentence pairs in all training steps."""

    def __init__(self) -> None:
        self.count = 0

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, i: int
    ) -> None:
        """Add the number of pairs of a step."""
        self.count += len(batch.lines)


def train(folder: Path) -> dict[str, float]:
    """Train a small model for STEPS steps; return pairs, seconds and peak resident memory."""
    text = (f"data.{key}={value}" for key, value in text_of(folder).items() if value is not None)
    config = compose(
        [
            *("scale=cpu", "model=tiny", "data=parallel", f"paths.cache={folder}", *text),
            *(f"tokenizer.vocab_size={VOCAB_SIZE}", f"budget.steps={STEPS}"),
        ]
    )
    job = resolve(config)
    data, counted = prepare_data(job), Pairs()
    model = make_model(job, data)
    begin = time.perf_counter()
    fit(job, model, data, counted)
    seconds = time.perf_counter() - begin
    return {"pairs": counted.count, "seconds": seconds, "resident": memory("self", "VmHWM")}


def text_of(folder: Path) -> dict[str, Any]:
    """Return the settings of the generated corpus, by key of the group `data`.

    Validation and test sentences are sampled from the training text.
    """
    source, target = LANGUAGES
    sampled: dict[str, Any] = {"validation": None, "test": None, "split_seed": 0}
    sizes = {"validation_size": 1000, "test_size": 1000}
    return {"source": source, "target": target, "train": f"{folder}/train", **sampled, **sizes}


def corpus(folder: Path) -> Parallel:
    """Return the generated corpus; validation and test are sampled from its training text."""
    return Parallel(**text_of(folder))


def scheme() -> Bpe:
    """Return the BPE scheme, with a vocabulary of VOCAB_SIZE that both languages share."""
    return Bpe(vocab_size=VOCAB_SIZE, joint=True)


PHASES = {"build": build, "pass": one_pass, "train": train}

if __name__ == "__main__":
    main()
