"""Only the output layer trains.

Equation: logits = W h; W follows its gradient, all that makes h stays as it is.
Source: arXiv:1902.00751, section 3 (fine-tuning of top layers alone, its baseline).
What differs: one layer, the projection to the vocabulary.
What to expect: far below training everything; on random states, what a linear model can do. With
    tied embeddings the output layer is the embedding too, which then trains in both places:
    model/embedding=separate has one of its own.
"""

from ablate.adapt.base import Adapt
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.head.linear import LinearHead


class OutputOnly(Adapt):
    """Freezes all but the weights of the head.

    Raises:
        UserError: when called, the head has no weights.
    """

    def __call__(self, model: Model, seed: int) -> None:
        """Stop the gradient of every other weight."""
        own = {id(parameter) for parameter in model.head.parameters()}
        if isinstance(model.head, LinearHead):
            own.add(id(model.head.weight()))
        trained = [parameter for parameter in model.parameters() if id(parameter) in own]
        if not trained:
            raise UserError("adapt=output_only: the output layer of this model has no weights")
        model.requires_grad_(False)
        for parameter in trained:
            parameter.requires_grad_(True)
