"""Translate lines of text with the model of a finished run."""

import sys
from collections.abc import Iterable
from itertools import islice
from typing import BinaryIO

import torch
from torch.nn.utils.rnn import pad_sequence

from ablate.data.text import stream_lines
from ablate.data.vocabulary import EOS, PAD
from ablate.errors import UserError
from ablate.progress import Work
from ablate.train.restore import Restored


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
        raise UserError(
            f"checkpoint is {str(run.folder)!r}, whose task translates nothing: "
            + (
                "use `ablate generate` for a language model"
                if run.task.writes
                else "give the folder of a run with task=translation"
            )
        )
    lines = stream_lines(source, "standard input")
    read, cut_lines = 0, list[int]()
    with Work("translating lines", shown=not sys.stdout.isatty()) as work:
        while chunk := list(islice(lines, batch)):
            texts, cuts = translate(run, chunk)
            cut_lines += [number for number, cut in enumerate(cuts, start=read + 1) if cut]
            read += len(chunk)
            target.write("".join(f"{text}\n" for text in texts).encode())
            target.flush()
            work.advance(len(chunk))
    if cut_lines:
        print(
            f"warning: {len(cut_lines):,} lines (the first is line {cut_lines[0]:,}) had more than "
            f"the {run.config.batch.max_length - 1} tokens that the model takes; the rest of each "
            "was not translated",
            file=sys.stderr,
        )
