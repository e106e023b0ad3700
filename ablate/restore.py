"""From the folder of a finished run back to something that translates."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf
from torch.nn.utils.rnn import pad_sequence

from ablate.allocator import keep_memory
from ablate.config_check import unknown
from ablate.construct import construct
from ablate.data.tokenizer import Tokenizers
from ablate.data.vocabulary import EOS, PAD
from ablate.errors import UserError
from ablate.model.build import build
from ablate.model.transformer import Transformer
from ablate.schema import Batching, Model
from ablate.search.base import Search
from ablate.tracking.sealed import read_result
from ablate.trust import check_targets
from ablate.weights import load_weights


@dataclass(frozen=True)
class Translator:
    """A trained model, its vocabularies and its search."""

    model: Transformer
    tokenizers: Tokenizers
    search: Search
    max_length: int
    device: str

    def __call__(self, lines: list[str]) -> list[str]:
        """Return a translation of each line; a blank line stays blank.

        A sentence of more than `max_length` tokens, EOS counted, is cut as in tests.
        """
        real = [i for i, line in enumerate(lines) if line.strip()]
        if not real:
            return [""] * len(lines)
        ids = self.tokenizers.src.encode_batch([lines[i] for i in real])
        rows = [torch.tensor([*row[: self.max_length - 1], EOS]) for row in ids]
        src = pad_sequence(rows, batch_first=True, padding_value=PAD).to(self.device)
        found = self.tokenizers.tgt.decode_batch(self.search(self.model, src))
        by_line = dict(zip(real, found, strict=True))
        return [by_line.get(i, "") for i in range(len(lines))]


def restore(
    folder: Path, settings: dict[str, Any], trust: list[str], device: str, threads: int
) -> Translator:
    """Return the translator that a run has left; `settings` replace some of its search's.

    Raises:
        UserError: part of the run is missing, damaged, not trusted or does not fit the rest.
    """
    record = read_result(folder) if folder.is_dir() else None  # its files are whole, the config too
    config = read_config(folder, settings, trust)
    if record is None:
        raise UserError(f"checkpoint is {str(folder)!r}, which holds no result.json of a training")
    torch.set_num_threads(threads)
    keep_memory()
    tokenizers = read_tokenizers(folder / "tokenizer")
    try:
        search = construct(config.search)
        model = build(
            config.model,
            src_vocab=tokenizers.src.size,
            tgt_vocab=tokenizers.tgt.size,
            joint_vocab=tokenizers.joint,
        )
    except InstantiationException as error:
        cause = str(error.__cause__ or error).splitlines()[0]
        raise UserError(f"{folder / 'config.yaml'} cannot be built: {cause}") from None
    load_weights(model, folder / "weights.pt", record["weights"])
    try:
        model.to(device)
    except (RuntimeError, AssertionError) as error:  # torch uses both for a missing device
        first = str(error).splitlines()[0]
        raise UserError(f"device is {device!r}, which cannot be used: {first}") from None
    return Translator(model.eval(), tokenizers, search, config.batch.max_length, device)


def read_config(folder: Path, settings: dict[str, Any], trust: list[str]) -> DictConfig:
    """Return the nodes model, search and batch of a run's config, checked."""
    path = folder / "config.yaml"
    if not folder.is_dir():
        raise UserError(f"checkpoint is {str(folder)!r}, which is not a folder")
    if not path.is_file():
        raise UserError(f"checkpoint is {str(folder)!r}, which holds no config.yaml")
    schema = {"model": OmegaConf.structured(Model), "batch": OmegaConf.structured(Batching)}
    try:
        plain: Any = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
        parts = {key: dict(plain[key]) for key in ("model", "search", "batch")}
        merged = OmegaConf.merge(schema, parts)
    except Exception as error:  # YAML can have any shape
        reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        raise UserError(f"{path} is not a run's config ({reason})") from None
    for key, value in settings.items():
        if key not in parts["search"]:
            raise UserError(unknown(f"search.{key}", parts["search"]))
        merged.search[key] = parts["search"][key] = value
    check_targets(parts, trust)  # nothing else of the config is ever built
    assert isinstance(merged, DictConfig)
    return merged


def read_tokenizers(folder: Path) -> Tokenizers:
    """Return the vocabularies that a run has saved."""
    try:
        return Tokenizers.load(folder)
    except Exception as error:  # the library raises bare ones
        first = str(error).splitlines()[0]
        raise UserError(f"{folder} does not hold the vocabularies of a run: {first}") from None
