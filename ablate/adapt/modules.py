"""Adaptation by additional weights in a frozen model: adapters, low-rank updates and prefixes."""

from typing import ClassVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrize

from ablate.adapt import Adapt, chosen
from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model import Cache, Model
from ablate.model.attention import Bias, Kernel, Keys, Outputs, Queries, Values, with_more_keys
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.layers import Linear
from ablate.model.padding import Mask
from ablate.model.parametrisation import FanIn, parametrisation_of
from ablate.model.stack import LayerContext, Memory, Slots, Stack, Sublayer
from ablate.process import stream


class Adapters(Adapt):
    """A small network after every sub-layer, in a frozen model.

    An option that adds an adapter, which is a small network, after every sub-layer.

    Equation: F'(x) = F(x) + U relu(D F(x) + d) + u, where F is the sub-layer, D has the shape
        "width d_model", and U is zero at first.
    Source: arXiv:1902.00751, section 2.1.
    What differs: U is zero at first, so that the output is unchanged before the first step, whereas
        the paper initialises it close to zero; the activation is relu. As in the paper, norms are
        trained as well.
    What to expect: with pretrained weights, close to training all weights; from random weights,
        worse.

    Only adapters and norms are trained.

    Args:
        width: width of the hidden layer of an adapter.

    Raises:
        UserError: when called, the model has no sub-layers.
    """

    def __init__(self, *, width: Count) -> None:
        self.width = width

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the model except its norms, and add an adapter to every sub-layer."""
        stacks = [(name, part) for name, part in model.named_modules() if isinstance(part, Stack)]
        if not stacks:
            raise UserError("adapt=adapters: this model has no sub-layers to put adapters behind")
        model.requires_grad_(False)
        for name, stack in stacks:
            stack.residual.requires_grad_(True)
            for number, layer in enumerate(stack.layers):
                self._wrap(f"{name}.{number}", cast("nn.ModuleDict", layer), stack.d_model, seed)

    def _wrap(self, place: str, layer: nn.ModuleDict, d_model: int, seed: int) -> None:
        for name, sublayer in layer.items():
            adapted = Adapted(cast("Sublayer", sublayer), d_model, self.width)
            adapted.draw(torch.Generator().manual_seed(stream(seed, f"{place}.{name}.adapter")))
            layer[name] = adapted


class Adapted(Sublayer):
    """A sub-layer followed by its adapter."""

    fan_in: ClassVar = {"up": FanIn.FIXED}

    def __init__(self, sublayer: Sublayer, d_model: int, width: int) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.down = Linear(d_model, width)
        self.up = Linear(width, d_model)

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Initialise the adapter such that it does not change the output of the sub-layer."""
        nn.init.xavier_uniform_(self.down.weight, generator=generator)
        for parameter in (self.down.bias, self.up.weight, self.up.bias):
            parameter.zero_()

    def forward(self, x: Float[Tensor, "B L D"], at: LayerContext) -> Float[Tensor, "B L D"]:
        """Return the output of sub-layer and adapter for whole sequences."""
        return self._adapt(self.sublayer(x, at))

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return the cache of the sub-layer; the adapter needs no cache."""
        return self.sublayer.cache(memory, slots)

    def step(
        self, x: Float[Tensor, "M N D"], at: LayerContext, slots: Slots, cache: Cache
    ) -> Float[Tensor, "M N D"]:
        """Return the output of sub-layer and adapter for the newest tokens."""
        return self._adapt(self.sublayer.step(x, at, slots, cache))

    def _adapt(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        return x + self.up(F.relu(self.down(x)))


class LoRA(Adapt):
    """Low-rank updates of frozen matrices.

    An option that freezes the model and trains only low-rank updates of some linear maps.

    Equation: W = W_0 + (alpha / rank) B A, where B has the shape "out rank" and is zero at first,
        and A has the shape "rank in".
    Source: arXiv:2106.09685, section 4.1.
    What differs: A is uniform in +-sqrt(6 / in). In the paper's code, A is uniform in +-sqrt(1 /
        in); in the paper's text, A is normal. There is no dropout on the input of A. W is computed
        again each time it is used.
    What to expect: with pretrained weights, nearly the quality of training all weights, although
        few weights are trained; from random weights, far worse.

    Args:
        rank: rank of the update of each matrix.
        alpha: each update is multiplied by alpha / rank.
        maps: patterns of the names of updated linear maps, such as query or decoder.*.value.

    Raises:
        UserError: when called, a pattern matches no linear map, or the rank is above a map's width.
    """

    def __init__(self, *, rank: Count, alpha: int | float, maps: list[str]) -> None:
        self.rank, self.alpha, self.maps = rank, alpha, maps

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the model, and add a trainable update to each linear map that `maps` matches.

        Args:
            model: the model, which is changed in place.
            seed: seed of the initial values of the updates.
        """
        every = model.named_modules(remove_duplicate=False)
        linear = {n: part for n, part in every if isinstance(part, nn.Linear)}
        updated: dict[nn.Linear, str] = {}
        for name in chosen("adapt.maps", self.maps, linear):
            # a projection with several uses has several names, and is updated once
            updated.setdefault(linear[name], name)
        model.requires_grad_(False)
        for part, name in updated.items():
            if self.rank > (most := min(part.weight.shape)):
                raise UserError(
                    f"adapt.rank={self.rank} is above {most}, the rank that {name} can have"
                )
            update = LowRank(part.weight, self.rank, self.alpha / self.rank)
            update.draw(torch.Generator().manual_seed(stream(seed, f"{name}.lora")))
            parametrize.register_parametrization(part, "weight", update)


class LowRank(nn.Module):
    """A parametrization that adds a trainable low-rank update to a frozen weight matrix.

    Args:
        weight: the frozen matrix, whose shape, dtype and device the update follows.
        rank: rank of the update.
        factor: the update is multiplied by this number.
    """

    fan_in: ClassVar = {"b": FanIn.FIXED}

    def __init__(self, weight: Float[Tensor, "E D"], rank: int, factor: float) -> None:
        super().__init__()
        self.factor = factor
        self.a = nn.Parameter(weight.new_zeros(rank, weight.size(1)))
        self.b = nn.Parameter(weight.new_zeros(weight.size(0), rank))

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Initialise the factors of the update B A: A is random, and B stays 0.

        So the update is 0 at first.
        """
        limit = (6 / self.a.size(1)) ** 0.5
        self.a.uniform_(-limit, limit, generator=generator)

    def forward(self, weight: Float[Tensor, "E D"]) -> Float[Tensor, "E D"]:
        """Return the matrix W_0 (`weight`) plus the low-rank update."""
        return weight + self.factor * self.b @ self.a


class Prefix(Adapt):
    """Prefix tuning: in every attention, trained keys and values precede those of the tokens.

    An option that freezes the model and trains a prefix in every attention.

    Equation: out = softmax(scale * q [P_k; k]^T) [P_v; v], where P_k and P_v have the shape "length
        d_head" for each head.
    Source: arXiv:2101.00190, section 4.
    What differs: the paper computes P by a network that is discarded after training; here P is
        trained directly, from normal values of standard deviation d_head^-0.5 (with muP
        base_head^-0.5, because keys and values do not shrink as heads grow). Cross-attention has a
        prefix, too. Rotary positions and position biases do not apply to P, and every query may
        attend to P.
    What to expect: with pretrained weights, somewhat worse than LoRA, with fewer trained weights
        and a higher learning rate. From random weights, far worse. The random prefix changes the
        logits of the pretrained model at the start.

    A prefix consists of keys and values, which precede the keys and values of the tokens.

    Args:
        length: number of trained keys and values that precede those of the tokens in every
            attention.

    Raises:
        UserError: when called, the model has no attention, or has an attention kernel that cannot
            read additional keys.
    """

    starts_unchanged = False

    def __init__(self, *, length: Count) -> None:
        self.length = length

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the model, and add a prefix to every attention."""
        attentions = [(n, m) for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)]
        if not attentions:
            raise UserError("adapt=prefix: this model has no attention to put a prefix into")
        model.requires_grad_(False)
        narrower = parametrisation_of(model).head_rate  # base_head / d_head with muP, else 1
        for name, attention in attentions:
            kernel = attention.kernel
            if not _takes_any_keys(kernel):
                raise UserError(
                    f"adapt=prefix: {name} is {type(kernel).__name__}, which cannot read a prefix: "
                    "choose another attention, such as model/attention=fused"
                )
            prefixed = Prefixed(kernel, attention.n_heads, self.length, attention.d_head)
            generator = torch.Generator().manual_seed(stream(seed, f"{name}.prefix"))
            prefixed.draw((narrower * attention.d_head) ** -0.5, generator)
            attention.kernel = prefixed


class Prefixed(Kernel):
    """An attention kernel that calls another kernel with additional trained keys and values."""

    weights_are_probabilities = False  # the weights of the tokens sum to less than 1
    has_weights = False  # the values of the prefix are added

    def __init__(self, kernel: Kernel, n_heads: int, length: int, d_head: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.keys, self.values = (
            nn.Parameter(torch.zeros(n_heads, length, d_head)) for _ in range(2)
        )

    @torch.no_grad()
    def draw(self, std: float, generator: torch.Generator) -> None:
        """Draw the initial values of the additional keys and values."""
        for parameter in (self.keys, self.values):
            parameter.normal_(std=std, generator=generator)

    def prepare_queries(self, q: Queries) -> Queries:
        """Return the queries as the wrapped kernel prepares them."""
        return self.kernel.prepare_queries(q)

    def prepare_keys(self, k: Keys) -> Keys:
        """Return the keys of the tokens as the wrapped kernel prepares them."""
        return self.kernel.prepare_keys(k)

    def finish(self, heads: Outputs, x: Float[Tensor, "B Q D"]) -> Outputs:
        """Return the result of the wrapped kernel's `finish` for the heads."""
        return self.kernel.finish(heads, x)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return the result of the wrapped kernel for the prefix followed by the tokens.

        The prefix consists of the trained keys and values. `mask` and `bias` apply to the tokens
        only; every query may attend to the whole prefix.
        """
        mask, bias = with_more_keys(q, k, mask, bias, before=self.keys.size(1))
        k, v = (
            torch.cat([prefix.to(x.dtype).expand(len(x), -1, -1, -1), x], 2)
            for prefix, x in ((self.keys, k), (self.values, v))
        )
        mixed: Tensor = self.kernel(q, k, v, mask, bias)
        return mixed


def _takes_any_keys(kernel: Kernel) -> bool:
    own_state = type(kernel).cache is not Kernel.cache
    limited = kernel.longest is not None or kernel.reads_positions
    return kernel.weights_are_probabilities and not limited and not own_state
