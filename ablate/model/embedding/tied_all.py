"""One matrix for source embedding, target embedding and output projection ("three-way tying").

Equation: x = scale E[src], y = scale E[tgt], logits = E h; scale sqrt(d_model) or 1. Source:
arXiv:1706.03762, section 3.4; arXiv:1608.05859, section 4. What differs: the output has no bias.
What to expect: the fewest parameters of this factor; suited to languages that share subwords.
"""

from jaxtyping import Float, Int
from torch import Tensor

from ablate.errors import UserError
from ablate.model.embedding.tied_target import TiedTarget


class TiedAll(TiedTarget):
    """A single matrix for both embeddings and the output projection.

    Raises:
        UserError: source and target do not share one vocabulary.
    """

    def __init__(
        self, *, d_model: int, src_vocab: int, tgt_vocab: int, joint_vocab: bool, scaled: bool
    ) -> None:
        if not joint_vocab:
            raise UserError(
                "model/embedding=tied_all needs one joint vocabulary, and tokenizer makes two: "
                "choose a joint tokenizer, or model/embedding=tied_target or separate"
            )
        # the table is named `tgt`, so that all options start from the same initial values
        super().__init__(
            d_model=d_model, src_vocab=0, tgt_vocab=tgt_vocab, joint_vocab=True, scaled=scaled
        )

    def embed_src(self, src: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Return the vectors of source tokens."""
        return self.tgt(src)
