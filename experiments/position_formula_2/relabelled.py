"""Permute the columns of a model's residual stream without changing its output.

Equation: for a permutation P of the columns, permute embeddings, positions and norms, replace every
    matrix W that reads the stream by W P^T, and every matrix that writes it by P W. Then the states
    are permuted and the logits are unchanged.
What differs: these models have no components that treat columns differently, such as group norms.
"""

import copy
from collections.abc import Iterable

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.errors import UserError
from ablate.model import Seq2Seq
from ablate.model.norm import Norm
from ablate.model.position.added import Sinusoidal
from ablate.model.projections import Identity
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Measured, moved

# projections that read the residual stream, and projections that write it
READS = ("query", "key", "value", "inner", "gate", "group")
WRITES = ("output", "outer")


def renaming(
    models: Iterable[tuple[Transformer, torch.Generator]], position: Sinusoidal, length: int
) -> Measured:
    """Yield how much the logits of random models change if the columns of the sinusoids are
    permuted into the order of the paper.

    Yields:
        relabelled: change if the weights are permuted in the same way.
        relabelled_control: change if the weights are not permuted.
    """
    for model, generator in models:
        src, tgt = (random_sentences(model, [length], generator) for _ in range(2))
        inputs = Seq2Seq(src, tgt)
        columns = torch.arange(model.embedding.output_weight().size(1))
        halves = position.layout == "halves"
        order = columns.view(2, -1).T.flatten() if halves else columns
        logits = model.head(model(inputs))
        renamed = {"relabelled": relabelled(model, order), "relabelled_control": model}
        for name, weights in renamed.items():
            other = in_layout_of_paper(weights, len(columns))
            yield name, moved(other.head(other(inputs)), logits)


def in_layout_of_paper(model: Transformer, d_model: int) -> Transformer:
    """Return a copy of a float64 model whose position encodings are the paper's sinusoids."""
    other = copy.deepcopy(model)
    for stack in (other.encoder, other.decoder):
        stack.position = Sinusoidal(d_model=d_model, layout="interleaved", spacing="half").double()
    return other


def relabelled(model: Transformer, order: Int[Tensor, " D"]) -> Transformer:
    """Return a copy of a model in which column j of embeddings, residual stream and states is the
    former column order[j].
    """
    other = copy.deepcopy(model)
    with torch.no_grad():
        for name, parameter in other.named_parameters():
            axis = stream_axis(name)
            if axis is not None:
                parameter.copy_(parameter.index_select(axis, order))
    return other


def check_columns(model: Transformer) -> None:
    """Raise UserError for a model with parts of which `stream_axis` does not know whether they
    belong to columns of the residual stream, such as learned scores of an attention.
    """
    width = model.encoder.d_model
    for name, part in model.named_modules():
        kind = name.rpartition(".")[2]
        mapped = name.startswith("embedding") or kind in (*READS, *WRITES)
        shapes = [parameter.shape for parameter in part.parameters(recurse=False)]
        normed = isinstance(part, Norm) and all(shape == (width,) for shape in shapes)
        if isinstance(part, Identity) or (shapes and not mapped and not normed):
            raise UserError(
                "probe=sinusoids permutes the features of the residual stream together with the "
                f"weights that read or write them, but does not know those of {name} "
                f"({type(part).__name__}): choose the default options of the model, such as "
                "model/attention=fused or model/projections=separate"
            )


def stream_axis(name: str) -> int | None:
    """Return the axis of a parameter along which its entries belong to columns of the residual
    stream; None for the biases of the projections in READS, which have no such axis.
    """
    part, kind = name.split(".")[-2:]
    if part in READS:
        return 1 if kind == "weight" else None
    return 1 if name.startswith("embedding.") else 0
