"""Load the model of a finished run from its folder, in the precision of its run, and use it:
translate lines, generate text, score a split.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

import hydra
import torch
import yaml
from hydra.errors import HydraException
from lightning_fabric.utilities import move_data_to_device
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.plugins.precision import Precision
from torch.nn.utils.rnn import pad_sequence

from ablate.config import CONF, search_current_folder
from ablate.config.check import check, check_groups, check_node
from ablate.config.construct import construct
from ablate.config.schema import Batching, Config
from ablate.config.trust import check_targets
from ablate.data import EOS, PAD, Corpus, check_split, stream_lines
from ablate.data.tokenizer import ExistingVocabularies, Tokenizers
from ablate.errors import UserError, class_and_line, first_line, progress
from ablate.initial import initialise
from ablate.model import Model, build
from ablate.model.layers import choose_products
from ablate.process import keep_memory, seed_of
from ablate.record.files import check_links, load_weights
from ablate.record.results import read_result
from ablate.search import Search
from ablate.task import Task
from ablate.train.apply import Writer
from ablate.train.job import READ, build_for, check_sources, make_data, precision_plugin
from ablate.train.module import text_of

VALUES = ("seed", "replicate", "threads", "products")  # single keys of a config that are used
TRAINER = ("precision", "accelerator")  # keys of the trainer that are used
USED = ("model", "adapt", "search", "batch", "task", *VALUES, "trainer")
SCHEMA = OmegaConf.masked_copy(OmegaConf.structured(Config), ["batch", *VALUES])


@dataclass(frozen=True)
class Restored:
    """The trained model of a finished run, with its vocabularies and the nodes of its config that
    are needed to use the model.

    The model has the types of the run. It must be called in the context that
    `precision.forward_context` returns.
    """

    folder: Path
    config: DictConfig  # the nodes of `USED`
    model: Model
    tokenizers: Tokenizers
    task: Task
    search: Search
    device: str
    precision: Precision


def restore(
    folder: Path,
    settings: Mapping[str, object],
    trust: list[str],
    device: str | None = None,
    threads: int | None = None,
) -> Restored:
    """Return the trained model of a finished run.

    Args:
        folder: folder of the run.
        settings: values that replace keys of the run's decoding search.
        trust: packages outside ablate and torch whose classes the run's config may construct.
        device: device of the model; None: as in the run, or the CPU if this machine has no GPU.
        threads: number of threads of torch; None: that of the run.

    Raises:
        UserError: a file of the run is missing or damaged, its config would construct a class that
            is not trusted, or its files do not fit together.
    """
    check_links(folder, folder)
    record = read_result(folder)  # also checks that no file of the run is missing or changed
    if record is None:
        raise UserError(f"checkpoint={folder} has no result.json of a finished run")
    config = read_config(folder, settings, trust)
    torch.set_num_threads(threads or config.threads)
    choose_products(config.products)
    keep_memory()
    tokenizers = Tokenizers.load(folder / "tokenizer")
    task: Task = construct(config.task)
    task.begin(tokenizers)
    search: Search = construct(config.search)
    model = build_for(task, tokenizers, config.model)
    construct(config.adapt)(model, 0)
    device = device or device_of(config.trainer.accelerator)
    precision = precision_plugin(config.trainer.precision, device)
    precision.convert_module(model.to(device))
    load_weights(model, folder / "weights.pt", record["weights"])
    return Restored(folder, config, model.eval(), tokenizers, task, search, device, precision)


def device_of(accelerator: str) -> str:
    """Return the device of a run with this `trainer.accelerator`, or cpu if it is not here."""
    devices = {"cuda": torch.cuda, "mps": torch.backends.mps} if accelerator != "cpu" else {}
    return next((name for name, kind in devices.items() if kind.is_available()), "cpu")


def read_config(folder: Path, settings: Mapping[str, object], trust: list[str]) -> DictConfig:
    """Return the nodes `USED` of a run's config.

    Args:
        folder: folder of the run.
        settings: values that replace keys of the node `search`.
        trust: packages outside ablate and torch whose classes the config may construct.

    Raises:
        UserError: the config is missing or invalid, or would construct a class that is not trusted.
    """
    path = folder / "config.yaml"
    try:
        text = path.read_text(encoding="utf-8")
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            # a few lines of nested aliases expand to millions of values
            raise ValueError("it has aliases, which a run never writes")
        plain: Any = OmegaConf.to_container(OmegaConf.create(text), resolve=False)
        parts = {key: plain[key] for key in USED}
        parts["trainer"] = {key: plain["trainer"][key] for key in TRAINER}
        parts["search"] |= settings
    except Exception as error:  # YAML can have any shape
        raise UserError(f"{path} is not the config of a run ({class_and_line(error)})") from None
    check_targets(parts, trust)  # no other part of the config is ever built
    merged: Any = OmegaConf.merge(SCHEMA, parts)
    check_node(merged.search, "search")
    return cast(DictConfig, merged)


def new_model(
    overrides: Iterable[str], vocabulary: int, config_dir: str | PathLike[str] | None = None
) -> Model:
    """Return the model of a command with these overrides, with the random weights of its seed
    (`initial=seeded`).

    Args:
        overrides: overrides of the config, such as "model/position=rotary".
        vocabulary: number of tokens, which source and target share.
        config_dir: a folder with further options; their classes may be in the current folder.

    Raises:
        UserError: the overrides make no valid config.
    """
    folders = [f"hydra.searchpath=['file://{Path(config_dir).absolute()}']"] if config_dir else []
    search_current_folder()
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            config = hydra.compose("config", [*folders, *overrides])
        except HydraException as error:
            raise UserError(first_line(error)) from error
    check_groups(config)
    check(config)
    task: Task = construct(config.task)
    source = vocabulary if task.reads_source else 0
    model = build(config.model, src_vocab=source, tgt_vocab=vocabulary, joint_vocab=True)
    initialise(model, seed_of(config))
    return model


def trained_model(run: Any, trust: list[str]) -> Model:
    """Return the trained model of a run, in evaluation mode.

    Args:
        run: the folder of a run, or a row (a series of pandas) of `ablate.load`.
        trust: packages whose classes the config of the run may construct.

    Raises:
        UserError: there is no such run, or its files are damaged.
    """
    path = run if isinstance(run, str | PathLike) else str(run.get("run"))
    folder = Path(path).expanduser()
    if not (folder / "weights.pt").is_file():
        raise UserError(f"{folder} is not the folder of a trained run")
    search_current_folder()
    return restore(folder, {}, trust).model


def translate(run: Restored, lines: list[str]) -> tuple[list[str], list[bool]]:
    """Return a translation of each line, and whether the line was cut; a blank line stays blank.

    As in tests, a sentence of more than `batch.max_length` tokens (with EOS) is cut to this length.
    """
    most, rows = run.config.batch.max_length, run.tokenizers.src.encode_batch(lines)
    texts = [""] * len(lines)
    if real := [i for i, line in enumerate(lines) if line.strip()]:
        ids = [torch.tensor([*rows[i][: most - 1], EOS]) for i in real]
        src = pad_sequence(ids, batch_first=True, padding_value=PAD).to(run.device)
        with run.precision.forward_context():
            hypotheses = run.search(run.model, src)
        translations = run.tokenizers.tgt.decode_lines(hypotheses)
        for i, text in zip(real, translations, strict=True):
            texts[i] = text
    return texts, [len(row) >= most for row in rows]


def translate_stream(run: Restored, batch: int, source: Iterable[bytes], target: BinaryIO) -> None:
    """Translate a stream line by line, `batch` lines at a time; a blank line stays blank.

    At the end, print to standard error which lines were too long and were cut.

    Raises:
        UserError: the run did not train a translation model, or a line is not UTF-8.
    """
    if not run.task.generates:
        raise UserError(f"checkpoint={run.folder}: its task does not translate")
    lines = stream_lines(source, "standard input")
    read, cut_lines = 0, list[int]()
    with progress("translating lines", shown=not sys.stdout.isatty()) as work:
        while chunk := list(islice(lines, batch)):
            texts, cuts = translate(run, chunk)
            cut_lines += [number for number, cut in enumerate(cuts, start=read + 1) if cut]
            read += len(chunk)
            target.write("".join(f"{text}\n" for text in texts).encode())
            target.flush()
            work.update(len(chunk))
    if cut_lines:
        print(
            f"warning: {len(cut_lines):,} lines (the first is line {cut_lines[0]:,}) had more than "
            f"the {run.config.batch.max_length - 1} tokens that the model takes; the rest of each "
            "was not translated",
            file=sys.stderr,
        )


def writer_of(run: Restored) -> Writer:
    """Return the text generator of a finished run that was loaded from its folder.

    Raises:
        UserError: the run did not train a language model.
    """
    if not run.task.writes:
        raise UserError(f"checkpoint={run.folder}: its task does not continue texts")
    about = json.loads((run.folder / "environment.json").read_text(encoding="utf-8"))
    return Writer(run.config, run.model, run.tokenizers.tgt, run.task, about["separator"])


def score(run: Restored, corpus: Corpus, split: str, cache_dir: str) -> dict[str, float]:
    """Return every metric that the task computes in a test of the run on this split, by name.

    The vocabulary, the batches, the random draws of the task, the precision and the decoding search
    are those of the run.

    Raises:
        UserError: there is no such split, or its text does not fit the run.
    """
    check_split(split, corpus.splits)
    check_sources(run.task, corpus)
    task, scheme = run.task, ExistingVocabularies(run.tokenizers, (split,))
    seed, batch = seed_of(run.config), cast(Batching, OmegaConf.to_object(run.config.batch))
    batch = replace(batch, scored_tokens=None)  # a short run's own tests score less
    data = make_data(task, corpus, scheme, batch, cache_dir=cache_dir, seed=seed)
    data.check_evaluation(split)
    text = text_of(data, split)
    if doubt := task.evaluation(data.languages[1], for_tests=False).doubt(text.references[:READ]):
        print(f"warning, {split}: {doubt}", flush=True)
    pairs, _, cut = data.counts[split]
    if cut:
        limit = f"batch.max_length={run.config.batch.max_length} of the run"
        print(f"warning, {split}: cut {cut:,} of {pairs:,} texts, longer than {limit}", flush=True)
    evaluation = task.evaluation(data.languages[1], for_tests=True).to(run.device)
    evaluation.begin(text)
    with torch.inference_mode():
        for examples in data.evaluation_loader(split):
            moved = move_data_to_device(examples, run.device)
            with run.precision.forward_context():
                evaluation.update(run.model, moved, run.search)
    return evaluation.compute()
