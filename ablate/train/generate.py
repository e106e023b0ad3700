"""Prepare a text generator and its prompt from a finished run of a language model."""

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
    return make_writer(run.config, run.model, run.tokenizers.tgt, run.task)


def read_prompt(raw: bytes, tokenizer: Tokenizer) -> str:
    """Return a prompt as text, after a check that the vocabulary has all of its characters.

    A model that was trained on separate lines takes a prompt of one line. The final line feed is
    dropped.

    Raises:
        UserError: the prompt is not UTF-8, has several lines although the model was trained on
            separate lines, or has characters that the vocabulary lacks.
    """
    try:
        prompt = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"the prompt is not UTF-8: byte {error.start} is invalid; convert it to UTF-8"
        ) from None
    if not tokenizer.verbatim:
        prompt = prompt.removesuffix("\n")
        if "\n" in prompt:
            raise UserError(
                f"the prompt has {prompt.count(chr(10)) + 1} lines, but this model was trained on "
                "single lines: give one line"
            )
    if UNK in tokenizer.encode_batch([prompt])[0]:
        parts = sorted({*prompt.split(), *filter(str.isspace, prompt)})
        unknown = [part for part in parts if UNK in tokenizer.encode_batch([part])[0]]
        raise UserError(
            f"the prompt has {', '.join(map(repr, unknown[:5]))}, which the vocabulary of this "
            "model cannot spell: leave it out, or train with tokenizer=byte"
        )
    return prompt
