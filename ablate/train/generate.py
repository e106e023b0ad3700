"""A prompt in, what a language model makes of it out."""

from ablate.data.tokenizer import Tokenizer
from ablate.data.vocabulary import UNK
from ablate.errors import UserError
from ablate.train.restore import Restored
from ablate.train.writer import Writer, make_writer


def writer_of(run: Restored) -> Writer:
    """Return the writer of a restored run.

    Raises:
        UserError: the run is not that of a language model.
    """
    if not run.task.writes:
        raise UserError(
            f"checkpoint is {str(run.folder)!r}, whose task cannot continue a text: give the run "
            "of a language model (task=language_model)"
        )
    return make_writer(run.config, run.model, run.tokenizers.tgt, run.task)


def read_prompt(raw: bytes, tokenizer: Tokenizer) -> str:
    """Return a prompt as the vocabulary reads it.

    A model of single lines takes one line, whose end is dropped.

    Raises:
        UserError: the prompt is not UTF-8, has several lines for a model of single ones, or has
            text that is not in the vocabulary.
    """
    try:
        prompt = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"the prompt is not UTF-8: byte {error.start} is wrong") from None
    if not tokenizer.verbatim:
        prompt = prompt.removesuffix("\n")
        if "\n" in prompt:
            raise UserError("the prompt has several lines, and this model has learned single ones")
    if UNK in tokenizer.encode_batch([prompt])[0]:
        parts = sorted({*prompt.split(), *filter(str.isspace, prompt)})
        unknown = [part for part in parts if UNK in tokenizer.encode_batch([part])[0]]
        raise UserError(
            f"the prompt has {', '.join(map(repr, unknown[:5]))}, which the vocabulary of this "
            "model cannot spell: leave it out, or train with tokenizer=byte"
        )
    return prompt
