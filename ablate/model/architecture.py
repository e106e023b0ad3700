"""The architecture of Transformers: sizes, factories of components, and how they are assembled."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.config.construct import Arguments
from ablate.config.limits import Count, OneOf
from ablate.errors import UserError
from ablate.model import WITHOUT_CAUSAL_MASK, Model
from ablate.model.attention import Kernel
from ablate.model.attention.multi_head import CrossAttention, MultiHeadAttention, SelfAttention
from ablate.model.block import Block
from ablate.model.embedding import Embedding, Table
from ablate.model.feed_forward import FeedForward
from ablate.model.head import Head
from ablate.model.layers import Rate, remove_biases
from ablate.model.norm import Norm
from ablate.model.padding import Padding
from ablate.model.parametrisation import Parametrisation
from ablate.model.position import Position
from ablate.model.projections import Projections
from ablate.model.residual import Depth, Residual
from ablate.model.stack import Stack, StackCache, Sublayer
from ablate.model.values import Values


def head_width(d_model: int, n_heads: int, d_head: int | None) -> int:
    """Return the width of a head: d_head, or d_model / n_heads if d_head is None.

    Raises:
        UserError: d_head is None, and n_heads does not divide d_model.
    """
    if d_head is not None:
        return d_head
    if d_model % n_heads:
        allowed = ", ".join(str(n) for n in range(1, d_model + 1) if d_model % n == 0)
        raise UserError(
            f"model.n_heads is {n_heads}, which does not divide model.d_model ({d_model}): choose "
            f"one of {allowed}, or set model.d_head"
        )
    return d_model // n_heads


def shared_layers(share_layers: str, n_layers: int) -> list[int]:
    """Return, for each layer of a stack, the number of the set of weights that the layer uses.

    Sets are counted from 0. `none`: a set for each layer; `pairs`: a set for two neighbouring
    layers, and one for the last layer if n_layers is odd; `all`: one set. Norms are shared as well.
    Source: `all` arXiv:1909.11942, section 3.1; `pairs` arXiv:2104.06022, section 3 ("sequence").
    """
    together = {"none": 1, "pairs": 2, "all": n_layers}
    return [layer // together[share_layers] for layer in range(n_layers)]


@dataclass
class Rates:
    """The dropout probability at each place in a Transformer (arXiv:1706.03762, section 5.4).

    In the YAML files of the models, every probability defaults to `rate`.
    """

    rate: Rate
    residual: Rate
    attention: Rate
    feed_forward: Rate
    embedding: Rate


@dataclass(frozen=True, kw_only=True)
class Architecture(Arguments):
    """The sizes that all layers of a model share, and the factories of its components.

    A factory is called once for each use of a component. The interface of each component documents
    the arguments of its factory. `position` and `norm` apply to every stack,
    and `attention`, `projections` and `padding` to every attention sub-layer, unless the stack or
    the sub-layer overrides them.

    Args:
        src_vocab: size of the source vocabulary; 0 if the task has no source.
        tgt_vocab: size of the target vocabulary.
        joint_vocab: whether both are the same vocabulary.
        d_model: width of every layer.
        d_ff: inner width of feed-forward sub-layers.
        n_heads: number of attention heads.
        d_head: width of a head; None: d_model / n_heads.
        share_layers: none | pairs | all: which neighbouring layers of a stack share their weights.
        dropout: dropout probability at each place in the model.
        bias: whether the linear maps of sub-layers have biases.
    """

    src_vocab: int
    tgt_vocab: int
    joint_vocab: bool
    d_model: Count
    d_ff: Count
    n_heads: Count
    d_head: Count | None
    share_layers: Annotated[str, OneOf(("none", "pairs", "all"))]
    dropout: Rates
    bias: bool
    position: Callable[..., Position]
    residual: Callable[..., Residual]
    norm: Callable[..., Norm]
    attention: Callable[..., Kernel]
    projections: Callable[..., Projections]
    padding: Callable[..., Padding]
    feed_forward: Callable[..., FeedForward]
    embedding: Callable[..., Embedding]
    values: Callable[..., Values]
    block: Callable[..., Block]
    head: Callable[..., Head]
    parametrisation: Callable[..., Parametrisation]

    @property
    def width_of_head(self) -> int:
        """The width of a head: d_head, or d_model / n_heads if d_head is None."""
        return head_width(self.d_model, self.n_heads, self.d_head)

    def make_embedding(self) -> Embedding:
        """Return the module with the embedding tables of source and target, shared or separate."""
        embedding = self.embedding(
            d_model=self.d_model,
            src_vocab=self.src_vocab,
            tgt_vocab=self.tgt_vocab,
            joint_vocab=self.joint_vocab,
        )
        parametrisation = self.make_parametrisation()
        for table in embedding.modules():
            if isinstance(table, Table):
                table.scale = parametrisation.scale_of_rows(table.scale)
        return embedding

    def make_head(self, embedding: Embedding) -> Head:
        """Return the head, which uses the output matrix of the embedding."""
        factor = self.make_parametrisation().logit_factor
        weight = embedding.output_weight
        # not a lambda: in a copy of the model, a lambda would still use the matrix of the original
        return self.head(weight=weight if factor == 1 else partial(multiplied, weight, factor))

    def make_parametrisation(self) -> Parametrisation:
        """Return the parametrisation (standard or muP) for d_model and d_head."""
        return self.parametrisation(d_model=self.d_model, d_head=self.width_of_head)

    def make_stack(
        self,
        name: str,
        layers: Mapping[str, int],
        cross: "Architecture | None" = None,
        *,
        causal: bool,
        look_ahead: bool,
    ) -> Stack:
        """Return a stack of layers.

        Args:
            name: encoder | decoder.
            layers: the number of layers of each stack of the model, by the name of the stack.
            cross: factories of cross-attention; None: the layers have no cross-attention.
            causal: whether a token attends only to itself and to earlier tokens.
            look_ahead: whether training lifts the causal mask, as in `SelfAttention`.
        """

        def make_layer(number: int) -> dict[str, Sublayer]:
            attention = SelfAttention(
                **self._attention(number),
                values=self.values(),
                causal=causal,
                look_ahead=look_ahead,
            )
            layer: dict[str, Sublayer] = {"self_attention": attention}
            if cross:
                layer["cross_attention"] = CrossAttention(**cross._attention(number))
            layer["feed_forward"] = self.feed_forward(
                d_model=self.d_model, d_ff=self.d_ff, dropout=self.dropout.feed_forward
            )
            return layer

        def make_residual(sublayers: int) -> Residual:
            return self.residual(
                norm=partial(self.norm, d_model=self.d_model),
                dropout=self.dropout.residual,
                depth=Depth(name, sublayers, layers.get("encoder", 0), layers.get("decoder", 0)),
            )

        order = shared_layers(self.share_layers, layers[name])
        return Stack(
            [make_layer(number) for number in sorted(set(order))],
            order=order,
            d_model=self.d_model,
            position=self.position(d_model=self.d_model),
            residual=make_residual,
            block=self.block(),
            dropout=self.dropout.embedding,
        )

    def _attention(self, layer: int) -> dict[str, Any]:
        """Return the arguments that self-attention and cross-attention have in common."""
        d_head, parametrisation = self.width_of_head, self.make_parametrisation()
        kernel = self.attention(d_head=d_head, dropout=self.dropout.attention)
        parametrisation.check_kernel(kernel)
        return dict(
            d_model=self.d_model,
            n_heads=self.n_heads,
            d_head=d_head,
            kernel=kernel,
            padding=self.padding(),
            projections=self.projections,
            layer=layer,
            query_factor=parametrisation.query_factor,
        )


def multiplied(weight: Callable[[], Tensor], factor: float) -> Tensor:
    """Return the matrix that the function `weight` returns, multiplied by `factor`."""
    return factor * weight()


class Assembled(Model):
    """A model of an embedding, stacks of Transformer layers, and a head.

    A subclass makes the stacks, and defines the inputs and the path of the data.

    Args:
        architecture: sizes of all layers, and factories of the components.
        stacks: the stacks by name: encoder, decoder, or both.
        causal: whether training masks later tokens.

    Raises:
        UserError: components do not fit together.
    """

    decoder: Stack  # in models that generate token by token

    def __init__(
        self, *, architecture: Architecture, stacks: Mapping[str, Stack], causal: bool
    ) -> None:
        super().__init__()
        self.breaks = frozenset() if causal else WITHOUT_CAUSAL_MASK
        self.embedding = architecture.make_embedding()
        for name, stack in stacks.items():
            self.add_module(name, stack)
        self.head = architecture.make_head(self.embedding)
        self.parametrisation = architecture.make_parametrisation()
        if not architecture.bias:
            remove_biases(self)

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

    def step(self, tokens: Int[Tensor, " R"], cache: StackCache) -> Float[Tensor, "R D"]:
        """Return, for each row, the hidden state that predicts the row's next token."""
        newest = tokens.view(-1, cache.slots.beams)
        return self.decoder.step(self.embedding.embed_tgt(newest), cache).flatten(0, 1)

    def adjust_initial_values(self) -> None:
        """Rescale the initial values as the parametrisation requires."""
        self.parametrisation.adjust(self)


def stacks_of(model: Model) -> Iterator[tuple[str, Stack]]:
    """Yield the name of each stack of Transformer layers in a model, and the stack."""
    for name, part in model.named_children():
        if isinstance(part, Stack):
            yield name, part
