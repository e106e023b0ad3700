"""Find the role of each trained parameter, so that optimisers can treat roles differently.

Names are ambiguous (a gain may be called `weight`), and so are shapes (a table of positions is a
matrix). Therefore the role of a parameter follows from the type of its module.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList

from ablate.model.embedding import Embedding
from ablate.model.head import Head, LinearHead
from ablate.model.parametrisation import FanIn, parametrisation_of

ROLES = ("matrices", "embeddings", "norms", "biases")
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class Trained(NamedTuple):
    """A trained parameter, with its role and the factor of its learning rate.

    `role` is "matrices" (of hidden linear maps and of their low-rank updates), "embeddings" (of
    tokens and positions, other tables of vectors, and the output projection), "norms" (gains and
    other scalars) or "biases".
    `parts` is the number of linear maps that are stacked in the matrix, such as 3 for queries, keys
    and values. `rate` multiplies the learning rate.
    """

    parameter: nn.Parameter
    role: str
    parts: int = 1
    rate: float = 1.0


def trained(module: nn.Module) -> list[Trained]:
    """Return the trainable parameters of a module with their roles, in the module's order."""
    tables = {id(parameter) for parameter in _of_tables(module)}
    maps = {id(p): parts for part in module.modules() for p, parts in _of_maps(part)}
    fan_in = _fan_in(module)
    parametrisation = parametrisation_of(module)

    def describe(name: str, parameter: nn.Parameter) -> Trained:
        role = "embeddings"
        if parameter.dim() < 2:
            biased = name.rpartition(".")[2].startswith("bias") or name.endswith("bias")
            role = "biases" if biased else "norms"
        elif id(parameter) in maps and id(parameter) not in tables:
            role = "matrices"
        if role != "matrices":
            return Trained(parameter, role, rate=parametrisation.rate(role))
        rates = {
            FanIn.WIDTH: parametrisation.rate(role),
            FanIn.HEAD: parametrisation.head_rate,
            FanIn.FIXED: 1.0,
        }
        rate = rates[fan_in.get(id(parameter), FanIn.WIDTH)]
        return Trained(parameter, role, maps[id(parameter)], rate)

    return [describe(name, p) for name, p in module.named_parameters() if p.requires_grad]


def _fan_in(module: nn.Module) -> dict[int, FanIn]:
    """Return a dictionary from id(parameter) to how its number of inputs grows with the model, for
    the parameters that a module lists in its attribute `fan_in`.
    """
    declared: dict[int, FanIn] = {}
    for part in module.modules():  # inner modules come later, and have the last word
        for name, inputs in getattr(part, "fan_in", {}).items():
            named = getattr(part, name)
            matrices = [named] if isinstance(named, Tensor) else named.parameters()
            declared |= dict.fromkeys(map(id, matrices), inputs)
    return declared


def _of_tables(module: nn.Module) -> Iterator[Tensor]:
    """Yield the parameters that embed tokens or compute logits."""
    for part in module.modules():
        if isinstance(part, Embedding | Head | nn.Embedding):
            yield from part.parameters()
        if isinstance(part, LinearHead):
            yield part.weight()


def _of_maps(part: nn.Module) -> list[tuple[Tensor, int]]:
    """Return the matrices of the linear maps of a module without its parts, and the number of
    linear maps that are stacked in each matrix.
    """
    if isinstance(part, nn.RNNBase):
        matrices = (p for p in part.parameters(recurse=False) if p.dim() == 2)
        return [(matrix, GATES[part.mode]) for matrix in matrices]
    if isinstance(part, nn.MultiheadAttention) and part.in_proj_weight is not None:
        return [(part.in_proj_weight, 3)]
    if isinstance(part, ParametrizationList):  # of a weight that is computed from others
        return [(p, 1) for p in part.parameters()]
    return [(part.weight, int(getattr(part, "parts", 1)))] if isinstance(part, nn.Linear) else []
