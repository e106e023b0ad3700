"""The interface of initial weights, initial values that depend only on seed and name, and weights
from files: of a finished run, or of word vectors.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import torch
from omegaconf import DictConfig
from torch import Tensor, nn

from ablate.config.construct import construct
from ablate.config.limits import OneOf
from ablate.data import open_bytes, stream_lines
from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.errors import UserError
from ablate.model import Model
from ablate.model.embedding import Table
from ablate.process import stream
from ablate.record.files import check_links, digest_of, load_weights
from ablate.record.results import read_result


class Initial(ABC):
    """Sets the weights from which training starts; an option of `initial`."""

    def check(self, model: Model) -> None:  # noqa: B027
        """Check, before training, that the option suits a model, whose weights may be on the meta
        device.

        Raises:
            UserError: the option does not suit the model.
        """

    @abstractmethod
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter of the model in place.

        Raises:
            UserError: a file with weights is missing, or does not fit the model.
        """

    def fingerprint(self) -> str:
        """Return a hash of the files that the option reads; "" if it reads no files.

        The hash decides, with the config, whether two runs are the same.
        """
        return ""


def weights_fingerprint(config: DictConfig) -> str:
    """Return the hash of the files from which a run's initial weights are read; "" without files.

    `config` is the config of the run.
    """
    initial: Initial = construct(config.initial)
    return initial.fingerprint()


class Seeded(Initial):
    """Initialise each parameter from the seed and the parameter's name alone.

    Draws each parameter from a separate random generator.

    Equation: matrices uniform in +-sqrt(6 / (rows + columns)), biases 0, gains 1. Embeddings and
        learned positions are normal with standard deviation d_model^-0.5.
    Source: Glorot and Bengio 2010 (Xavier uniform), as in tensor2tensor (arXiv:1803.07416).
    What differs: every parameter has a separate random generator.
    What to expect: if two arms of a study have a parameter of the same name and shape, the
        parameter has the same initial values in both.

    The generator depends on the seed and on the parameter's name.
    """

    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        initialise(model, seed)


def initialise(model: nn.Module, seed: int) -> None:
    """Initialise every parameter in place: matrices Xavier uniform, biases 0, gains 1.

    Each parameter has a separate random generator, which depends on the seed and the parameter's
    name, so arms of a study have the same initial values for every parameter of the same name and
    shape. A module with a method `draw_initial_values(parameter, generator)` draws its own
    parameters. A parameter that the constructor of a class has set to one number keeps this number.
    A parameter with several names uses the first name.
    """
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(prefix=path, recurse=False):
            generator = torch.Generator(parameter.device).manual_seed(stream(seed, name))
            with torch.no_grad():
                fill(module, name, parameter, generator)
    adjust(model)


@torch.no_grad()
def adjust(model: nn.Module, without: type[nn.Module] | tuple[()] = ()) -> None:
    """Call `adjust_initial_values` of every module that has this method, except modules of the
    type `without`.
    """
    for module in model.modules():
        adjust_module = getattr(module, "adjust_initial_values", None)
        if adjust_module and not isinstance(module, without):
            adjust_module()


def fill(module: nn.Module, name: str, parameter: Tensor, generator: torch.Generator) -> None:
    """Initialise one parameter of a module in place; `name` is its name in the model."""
    if draw := getattr(module, "draw_initial_values", None):
        draw(parameter, generator)
    elif _is_chosen(module, parameter):
        return
    elif parameter.dim() > 1:
        nn.init.xavier_uniform_(parameter, generator=generator)
    else:
        parameter.fill_(0.0 if name.endswith("bias") else 1.0)


def _is_chosen(module: nn.Module, parameter: Tensor) -> bool:
    """Return whether the constructor of a module has set all values of a parameter to one number,
    and the class of the module is not derived from a layer of torch.

    Values that are not set yet are NaN (`ablate.model.FillEmptyWithNaN`).
    """
    library = [x.__module__.startswith("torch.") and x is not nn.Module for x in type(module).mro()]
    return not any(library) and bool((parameter == parameter.flatten()[:1]).all())


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
            tokenizer.token_labels(list(range(tokenizer.size))) for tokenizer in (theirs, ours)
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
        rows = {_word(p): i for i, p in enumerate(tokenizer.token_labels([*range(tokenizer.size)]))}
        count = 0
        for number, (word, numbers) in enumerate(self._lines(), start=1):
            if word in rows:
                vector = self._vector(number, numbers, table.weight.size(1))
                table.weight[rows[word]] = vector / table.scale
                count += 1
        return count

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        with open_bytes(self.file) as file:
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
        vector = [float(number_text) for number_text in numbers]
        if not all(map(math.isfinite, vector)):
            raise UserError(f"initial.file={self.file}: vector {number} is not finite")
        return torch.tensor(vector)


def _word(piece: str) -> str | None:
    """Return the word that a subword stands for; None if the subword continues a word."""
    if piece.startswith(SPACE):
        return piece.removeprefix(SPACE)
    return None if piece[:1].isalnum() else piece
