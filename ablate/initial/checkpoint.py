"""Initialise with the weights of a finished run.

Equation: w_0 = the weights with which another run was tested.
Source: arXiv:1801.06146, section 3 (fine-tuning of a whole pretrained model).
What differs: nothing is random. Model and vocabulary must be the same as in the other run.
What to expect: the first nll is that of the other run's model on this text. With `adapt`, the
    pretrained weights are the starting point of LoRA, adapters or partly frozen models.
"""

from pathlib import Path

from ablate.data.tokenizer import Tokenizer, Tokenizers
from ablate.errors import UserError
from ablate.initial.base import Initial
from ablate.model.base import Model
from ablate.record.files import check_links
from ablate.record.sealed import read_result
from ablate.record.weights import load_weights


class Checkpoint(Initial):
    """Reads initial weights from the folder of a run.

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
        load_weights(model, self.folder / "weights.pt", self.digest, model.obsolete)

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
