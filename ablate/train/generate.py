"""Prepare a text generator and its prompt from a finished run of a language model."""

from pathlib import Path

import yaml
from hydra.utils import get_object

from ablate.config.trust import check_targets
from ablate.data.documents import SEPARATORS
from ablate.data.text import MARK
from ablate.data.tokenizer import Tokenizer
from ablate.data.vocabulary import UNK
from ablate.errors import UserError
from ablate.train.restore import Restored
from ablate.train.writer import Writer, make_writer


def writer_of(run: Restored) -> Writer:
    """Return the text generator of a finished run that was loaded from its folder.

    Raises:
        UserError: the run did not train a language model.
    """
    if not run.task.writes:
        raise UserError(
            f"checkpoint is {str(run.folder)!r}, whose task cannot continue a text: give the "
            "folder of a language model's run (task=language_model)"
        )
    tokenizer = run.tokenizers.tgt
    separator = separator_of(run.folder, tokenizer)
    return make_writer(run.config, run.model, tokenizer, run.task, separator)


def separator_of(folder: Path, tokenizer: Tokenizer) -> str | None:
    """Return the text between two documents of the training text of a run; None if there is none.

    In training, an end token replaced this text. In a corpus without documents, every line was a
    text. The texts of `data=huggingface` and of other packages may have several lines.

    Args:
        folder: folder of the run.
        tokenizer: vocabulary of the run.
    """
    if not tokenizer.verbatim:
        return "\n"
    # a restored config has no node `data`, whose class need not be trusted to continue a prompt
    data = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8")).get("data")
    node = data if isinstance(data, dict) else {}
    if "documents" in node:
        return SEPARATORS.get(str(node["documents"]))
    return "\n" if _has_lines(node.get("_target_")) else None


def _has_lines(target: object) -> bool:
    """Return whether a run's corpus is a class of ablate whose texts are single lines."""
    try:
        check_targets({"data": {"_target_": target}}, ())
    except UserError:  # a class of another package, which must not be imported
        return False
    return not get_object(str(target)).documents


def read_prompt(raw: bytes, writer: Writer) -> str:
    """Return a prompt as text, after a check that the vocabulary has all of its characters.

    A byte-order mark is dropped. If the model was trained on separate lines, the final line feed is
    dropped, too.

    Raises:
        UserError: the prompt is not UTF-8, has several documents although the model was trained on
            single documents, or has characters that the vocabulary lacks.
    """
    try:
        prompt = raw.decode("utf-8").removeprefix(MARK).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"the prompt is not UTF-8: byte {error.start} is invalid; convert it to UTF-8"
        ) from None
    by_line = writer.separator == "\n"
    prompt = prompt.removesuffix("\n") if by_line else prompt
    documents, unit = writer.documents(prompt), "line" if by_line else "paragraph"
    if len(documents) > 1 and not writer.packed:
        raise UserError(
            f"the prompt has {len(documents)} {unit}s, but this model was trained on single "
            f"{unit}s: give one {unit}"
        )
    encode = writer.tokenizer.encode_batch
    if any(UNK in row for row in encode(documents)):
        parts = sorted({*prompt.split(), *filter(str.isspace, "".join(documents))})
        unknown = [part for part in parts if UNK in encode([part])[0]]
        raise UserError(
            f"the prompt has {', '.join(map(repr, unknown[:5]))}, which the vocabulary of this "
            "model cannot spell: leave it out, or train with tokenizer=byte"
        )
    return prompt
