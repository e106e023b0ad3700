"""Train only the output layer.

Equation: logits = W h; W follows its gradient; everything that computes h is frozen.
Source: arXiv:1902.00751, section 3 (its baseline of fine-tuning only top layers).
What differs: one layer, the projection to the vocabulary.
What to expect: far worse than training everything; on random states, the performance of a linear
    model. With tied embeddings, the embedding is trained as well; model/embedding=separate avoids
    this.
"""

from ablate.adapt.base import Adapt
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.head.linear import LinearHead


class OutputOnly(Adapt):
    """Freeze everything except the weights of the output layer.

    Raises:
        UserError: when called, the head has no weights.
    """

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze every other weight."""
        head_parameters = {id(parameter) for parameter in model.head.parameters()}
        if isinstance(model.head, LinearHead):
            head_parameters.add(id(model.head.weight()))
        trained = [
            parameter for parameter in model.parameters() if id(parameter) in head_parameters
        ]
        if not trained:
            raise UserError("adapt=output_only: the output layer of this model has no weights")
        model.requires_grad_(False)
        for parameter in trained:
            parameter.requires_grad_(True)
