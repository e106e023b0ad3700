"""Train only the output layer.

Equation: logits = W h. W is trained, and all weights that compute the hidden state h are frozen.
Source: arXiv:1902.00751, section 3 (the baseline that fine-tunes only the top layers).
What differs: only one layer is trained, the projection to the vocabulary.
What to expect: far worse than training all weights. If the frozen weights are random, the model is
    a linear model of random features. With tied embeddings, the embedding is trained as well;
    model/embedding=separate avoids this.
"""

from ablate.adapt.base import Adapt
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.head.linear import LinearHead


class OutputOnly(Adapt):
    """An option that freezes all weights except those of the output layer.

    Raises:
        UserError: when called, the output layer of the model has no weights.
    """

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze all weights except those of the output layer."""
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
