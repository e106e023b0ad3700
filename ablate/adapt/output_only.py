"""Train only the output layer.

Equation: logits = W h. W is trained, and all weights that compute the hidden state h are frozen.
Source: arXiv:1902.00751, section 3 (the baseline that fine-tunes only the top layers).
What differs: only one layer is trained, the projection to the vocabulary.
What to expect: far worse than training all weights. If the frozen weights are random, the model is
    a linear model of random features. With tied embeddings, the embedding is trained as well;
    model/embedding=separate avoids this.
"""

import torch

from ablate.adapt.base import Adapt
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.head import LinearHead


class OutputOnly(Adapt):
    """An option that freezes all weights except those of the output layer.

    Raises:
        UserError: when called, the output layer of the model has no weights.
    """

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze all weights except those of the output layer."""
        trained = list(model.head.parameters())
        if isinstance(model.head, LinearHead):
            # the matrix of the head may be a function of a parameter, such as a multiple
            parameters = list(model.parameters())
            with torch.enable_grad():
                total = model.head.weight().sum()
            gradients = torch.autograd.grad(total, parameters, allow_unused=True)
            pairs = zip(parameters, gradients, strict=True)
            trained += [parameter for parameter, gradient in pairs if gradient is not None]
        if not trained:
            raise UserError("adapt=output_only: the output layer of this model has no weights")
        model.requires_grad_(False)
        for parameter in trained:
            parameter.requires_grad_(True)
