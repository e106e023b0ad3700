"""The interface and the options of models: the methods that training, search and probing
classifiers call.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, NamedTuple

import torch
from hydra.utils import get_class
from jaxtyping import Float, Int
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ablate.config.construct import construct, nest_arguments
from ablate.errors import UserError
from ablate.model import Cache, Law
from ablate.model.attention import Kernel
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.head import Head
from ablate.model.padding import Mask
from ablate.model.stack import Stack


class Seq2Seq(NamedTuple):
    """The inputs of a model that reads a source and predicts a target.

    `src` ends in EOS, `tgt_in` starts with BOS; both are padded with PAD on the right.
    """

    src: Int[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]


class Causal(NamedTuple):
    """The inputs of a model that continues a text.

    A row starts with BOS. If the row is a part of a longer text, it starts with the token before
    this part instead. PAD is on the right.
    """

    tokens: Int[Tensor, "B L"]


class CausalDocuments(NamedTuple):
    """The inputs of a model that continues texts, with several documents in a row.

    `documents` has the number of each token's document, counted from 0 in each row. A token attends
    only to tokens of its own document.
    """

    tokens: Int[Tensor, "B L"]
    documents: Int[Tensor, "B L"]


class Bidirectional(NamedTuple):
    """The inputs of a model that sees whole texts; EOS ends a text, PAD is on the right."""

    tokens: Int[Tensor, "B L"]


def texts(inputs: Any) -> tuple[Int[Tensor, "B L"], ...]:
    """Return the tensors of token ids in a model's inputs: a text, or a source and a target."""
    return inputs[:1] if isinstance(inputs, CausalDocuments) else tuple(inputs)


class Model(nn.Module, ABC):
    """Maps token ids to hidden states; its `head` maps hidden states to logits.

    Built as `model(src_vocab=, tgt_vocab=, joint_vocab=)`, with the sizes of both vocabularies and
    whether they are the same vocabulary; `src_vocab` is 0 if the task has no source. The other
    arguments come from its YAML file.

    `takes` lists the types of inputs that the model accepts. A model reads one text (`Causal`) or
    two (`Seq2Seq`: source and target). `reads` maps the name of each stack to the texts that the
    stack reads, as a slice of the list of texts.
    """

    breaks: frozenset[Law] = frozenset()  # without the laws that components break
    takes: ClassVar[frozenset[type]] = frozenset({Seq2Seq})
    reads: ClassVar[dict[str, slice]] = {"encoder": slice(0, 1), "decoder": slice(-1, None)}
    head: Head

    @abstractmethod
    def forward(self, inputs: Any) -> Float[Tensor, "B T D"]:
        """Return the hidden states that predict the targets of a batch.

        `inputs` has one of the types in `takes`.
        """

    def start(self, src: Int[Tensor, "B S"], beams: int) -> Cache:
        """Return the cache of step-by-step decoding, with `beams` rows for each source.

        Only a model that takes `Seq2Seq` needs `start` and `step`.
        """
        raise NotImplementedError

    def step(self, tokens: Int[Tensor, " R"], cache: Any) -> Float[Tensor, "R D"]:
        """Return, for each row, the hidden state that predicts the row's next token.

        `tokens` has the newest token of each row. The cache stores the token for later steps.
        """
        raise NotImplementedError

    def check_decoding(self) -> None:  # noqa: B027
        """Check that all components can decode step by step after a source.

        Raises:
            UserError: a component cannot decode step by step.
        """

    def check_documents(self) -> None:  # noqa: B027
        """Check that no component passes information between the documents of a row.

        Raises:
            UserError: a component passes information between documents.
        """

    def limits(self) -> dict[str, int | None]:
        """Return the largest numbers of tokens that the model accepts; None: no limit.

        Returns:
            source: largest number of source tokens.
            target: largest number of target tokens.
            both: largest number of source and target tokens together; only for a model that reads
                them as a single sequence.
        """
        return {"source": None, "target": None, "both": None}

    def attentions(self) -> Iterator[tuple[str, Kernel]]:
        """Yield each attention's name, such as "decoder.0.cross", and its kernel.

        A layer whose weights are shared occurs once.
        """
        for stack, part in stacks_of(self):
            for name, module in part.layers.named_modules():
                if isinstance(module, MultiHeadAttention):
                    number, kind = name.split(".")[:2]
                    yield f"{stack}.{number}.{kind.removesuffix('_attention')}", module.kernel

    def layers(self) -> Iterator[tuple[str, list[nn.Parameter]]]:
        """Yield each layer's name, such as "encoder.0", and the list of its parameters."""
        for stack, part in stacks_of(self):
            for number, parameters in enumerate(part.parameters_by_layer()):
                yield f"{stack}.{number}", parameters


def stacks_of(model: Model) -> Iterator[tuple[str, Stack]]:
    """Yield the name of each stack of Transformer layers in a model, and the stack."""
    for name, part in model.named_children():
        if isinstance(part, Stack):
            yield name, part


class Undrawn(TorchFunctionMode):
    """Fills the memory that `torch.empty` returns with NaN, which marks the parameters whose
    initial values a constructor leaves to be drawn.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function of torch."""
        result = func(*args, **(kwargs or {}))
        is_empty = func is torch.empty and result.is_floating_point()
        return result.fill_(torch.nan) if is_empty else result


def build(config: DictConfig, *, src_vocab: int, tgt_vocab: int, joint_vocab: bool) -> Model:
    """Return the model that the config describes; `config` is the node `model` of a run's config.

    `src_vocab` is 0 if the task has no source.

    Building draws no numbers from torch's global random generator, so that all arms of a study see
    the same random numbers afterwards. The initial values are drawn later, by an option of
    `initial`. Under `torch.device("meta")` parameters have shapes but no values; this is enough to
    check that components fit together.

    Raises:
        UserError: a size, a value or a combination of components is wrong.
    """
    with torch.random.fork_rng(devices=[]), Undrawn():
        model: Model = construct(
            config,
            _target_=f"{__name__}.{assemble.__name__}",
            constructor=config["_target_"],
            src_vocab=src_vocab,
            tgt_vocab=tgt_vocab,
            joint_vocab=joint_vocab,
        )
    return model


def assemble(*, constructor: str, **given: object) -> Model:
    """Return the model that a constructor builds from the settings of its config.

    Args:
        constructor: the import path of a model class.
        given: settings from the config, which are grouped into the arguments of the class.
    """
    kind = get_class(constructor)
    model: Model = kind(**nest_arguments(kind, given))
    return model


@torch.no_grad()
def attention_weights(
    model: Model, inputs: Any, *, partial: bool = False
) -> dict[str, Float[Tensor, "B H Q K"]]:
    """Return the weights of every attention for the inputs of a batch, without dropout.

    Keys are names such as "encoder.0.self" or "decoder.0.cross", where the number counts layers.
    Kernels whose weights do not sum to 1 over the keys are left out. With `partial`, kernels whose
    weights are at least 0 and sum to less than 1 are included. If a layer is used several times
    because its parameters are shared, the weights of its last use are returned.
    """
    weights: dict[str, Tensor] = {}

    def record(name: str) -> Any:
        def hook(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> None:
            weights[name] = weights_of(kernel, *inputs)

        return hook

    training = model.training
    with ExitStack() as hooks:
        for name, kernel in model.attentions():
            if kernel.has_shares or (partial and kernel.has_partial_shares):
                hooks.enter_context(kernel.register_forward_hook(record(name)))
        hooks.callback(model.train, training)
        model.eval()(inputs)
    return weights


def weights_of(
    kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, mask: Mask, bias: Tensor | None
) -> Float[Tensor, "B H Q K"]:
    """Return the attention weights of a kernel for queries q and keys k.

    A kernel is linear in the values, so its output for an identity matrix of values is the matrix
    of attention weights.

    Raises:
        UserError: the outputs of the kernel are no weighted sums of the values.
    """
    check_weights(kernel)
    n_keys = k.size(2)
    identity = torch.eye(n_keys, dtype=v.dtype, device=v.device)
    weights: Tensor = kernel.forward(q, k, identity.expand(*v.shape[:2], -1, -1), mask, bias)
    return weights


def check_weights(model: nn.Module) -> None:
    """Raise UserError for a kernel, in a model or alone, that has no attention weights."""
    for kernel in model.modules():
        if isinstance(kernel, Kernel) and not kernel.has_weights:
            raise UserError(
                f"the outputs of {type(kernel).__name__} attention are not plain weighted sums of "
                "the values, so there are no attention weights to measure: choose another "
                "model/attention, such as fused, and not adapt=prefix"
            )
