"""Initial weights from files: of a finished run, or of word vectors."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor

from ablate.config.limits import OneOf
from ablate.data.text import opened, stream_lines
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.errors import UserError
from ablate.initial import Initial, initialise
from ablate.model.base import Model
from ablate.model.embedding import Table
from ablate.record.files import check_links, digest_of, load_weights
from ablate.record.results import read_result


class Checkpoint(Initial):
    """Initialise with the weights of a finished run.

    Reads initial weights from the folder of a run.

    Equation: w_0 = the weights with which another run was tested.
    Source: arXiv:1801.06146, section 3 (fine-tuning of a whole pretrained model).
    What differs: nothing is random. Model and vocabulary must be the same as in the other run.
    What to expect: the first nll is that of the other run's model on this text. With `adapt`, the
        pretrained weights are the starting point of LoRA, adapters or partly frozen models.

    Args:
        folder: folder of the run, with result.json, weights.pt and tokenizer.

    Raises:
        UserError: there is no such run, or its files were changed; when called, the weights do not
            fit the model, or the other run has another vocabulary.
    """

    def __init__(self, *, folder: str) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise UserError(f"initial.folder={folder} is not a folder")
        check_links(self.folder, self.folder)
        record = read_result(self.folder)
        weights = record["weights"] if record else None
        if weights is None:
            raise UserError(f"initial.folder={folder} holds no result.json of a run with weights")
        self.digest = weights

    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Load every parameter of the model from the run."""
        theirs = Tokenizers.load(self.folder / "tokenizer")
        for side in ("src", "tgt"):
            self._compare(side, getattr(theirs, side), getattr(tokenizers, side))
        load_weights(model, self.folder / "weights.pt", self.digest)

    def fingerprint(self) -> str:
        """Return a hash of the weights."""
        return self.digest

    def _compare(self, side: str, theirs: Tokenizer, ours: Tokenizer) -> None:
        given, wanted = (
            tokenizer.pieces(list(range(tokenizer.size))) for tokenizer in (theirs, ours)
        )
        if given != wanted:
            raise UserError(
                f"initial.folder={self.folder} has another {side} vocabulary ({len(given)} pieces) "
                f"than this run ({len(wanted)} pieces): its weights belong to the text and the "
                "tokenizer that it was trained with"
            )


SPACE = "\u2581"  # how labels of subwords show the space before a word


class Vectors(Initial):
    """Initialise embeddings with word vectors from a file; other parameters are random.

    Initialises embeddings from a file in the text format of word2vec or GloVe.

    Equation: E[subword] = vector(word) / scale for every subword that is a whole word in the file,
        where scale is the factor of looked-up embeddings. So the looked-up embedding equals the
        vector.
    Source: arXiv:1301.3781 (word2vec) and doi:10.3115/v1/D14-1162 (GloVe), whose text formats are
        read.
    What differs: subwords that do not start a word get no vector; words are compared with letter
        case.
    What to expect: a faster start with little text; hardly a difference with much text.

    Args:
        file: each line has a word and the numbers of its vector; a first line of two numbers, as
            word2vec writes it, is skipped. Files ending in .gz are decompressed.
        side: embeddings that are initialised: src | tgt | both.

    Raises:
        UserError: the file is missing; when called, the file is malformed, its vectors are not as
            wide as the model, or it contains no word of the vocabulary.
    """

    def __init__(self, *, file: str, side: Annotated[str, OneOf(("src", "tgt", "both"))]) -> None:
        self.file, self.side = Path(file), side
        if not self.file.is_file():
            raise UserError(f"initial.file={file} is not a file")

    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        initialise(model, seed)
        counts = [
            self._fill(table, tokenizers.src if side == "src" else tokenizers.tgt)
            for side, table in self._tables(model)
        ]
        if not any(counts):
            raise UserError(
                f"initial.file={self.file} has a vector for no word of the vocabulary "
                f"(initial.side={self.side}): give vectors of words of this language"
            )

    def fingerprint(self) -> str:
        """Return a hash of the file with the word vectors."""
        return digest_of(self.file)

    def _tables(self, model: Model) -> Iterator[tuple[str, Table]]:
        """Yield the side, "src" or "tgt", and the matrix of each embedding to initialise.

        The side of a matrix that source and target share is "tgt".
        """
        for name, part in model.named_modules():
            side = name.rpartition(".")[2]
            if isinstance(part, Table) and self.side in ("both", side):
                yield side, part

    @torch.no_grad()
    def _fill(self, table: Table, tokenizer: Tokenizer) -> int:
        rows = {_word(p): i for i, p in enumerate(tokenizer.pieces(list(range(tokenizer.size))))}
        count = 0
        for number, (word, numbers) in enumerate(self._lines(), start=1):
            if word in rows:
                vector = self._vector(number, numbers, table.weight.size(1))
                table.weight[rows[word]] = vector / table.scale
                count += 1
        return count

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        with opened(self.file) as file:
            for number, line in enumerate(stream_lines(file, str(self.file))):
                word, *numbers = line.rstrip().split(" ")
                if number or len(numbers) != 1:
                    yield word, numbers

    def _vector(self, number: int, numbers: list[str], width: int) -> Tensor:
        if len(numbers) != width:
            raise UserError(
                f"initial.file={self.file}: vector {number} has {len(numbers)} numbers, and "
                f"model.d_model is {width}"
            )
        try:
            vector = [float(number_text) for number_text in numbers]
        except ValueError as error:
            raise UserError(f"initial.file={self.file}: vector {number}: {error}") from None
        if not all(map(math.isfinite, vector)):
            raise UserError(f"initial.file={self.file}: vector {number} is not finite")
        return torch.tensor(vector)


def _word(piece: str) -> str | None:
    """Return the word that a subword stands for; None if the subword continues a word."""
    if piece.startswith(SPACE):
        return piece.removeprefix(SPACE)
    return None if piece[:1].isalnum() else piece
