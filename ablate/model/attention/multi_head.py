"""Multi-head attention: projections, heads and a kernel (arXiv:1706.03762, section 3.2.2)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ablate.model.attention.base import Kernel
from ablate.model.linear import Linear, linear

Packed = tuple[Float[Tensor, "N D"], Float[Tensor, " N"]]  # weight and bias of several maps


class MultiHeadAttention(nn.Module):
    """Projects to heads, lets the kernel attend, and projects back.

    Args:
        d_model: width of x and memory.
        n_heads: number of heads.
        d_head: width of one; n_heads * d_head need not be d_model.
        kernel: what attends.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, kernel: Kernel) -> None:
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_head
        self.query = Linear(d_model, n_heads * d_head)
        self.key = Linear(d_model, n_heads * d_head)
        self.value = Linear(d_model, n_heads * d_head)
        self.output = Linear(n_heads * d_head, d_model)
        self.kernel = kernel

    def forward(
        self,
        x: Float[Tensor, "B Q D"],
        memory: Float[Tensor, "B K D"],
        keep: Bool[Tensor, "#B 1 #Q #K"] | None,
    ) -> Float[Tensor, "B Q D"]:
        """Return what each x reads from memory; self-attention has memory = x."""
        if memory is x:
            queries, keys, values = self.project(x, self.packed())
            return self.read(queries, keys, values, keep)
        return self.attend(x, *self.keys_values(memory), keep)

    def keys_values(
        self, memory: Float[Tensor, "B K D"]
    ) -> tuple[Float[Tensor, "B H K E"], Float[Tensor, "B H K E"]]:
        """Return keys and values; decoding keeps them."""
        keys, values = self.project(memory, pack(self.key, self.value))
        return keys, values

    def attend(
        self,
        x: Float[Tensor, "B Q D"],
        keys: Float[Tensor, "B H K E"],
        values: Float[Tensor, "B H K E"],
        keep: Bool[Tensor, "#B 1 #Q #K"] | None,
    ) -> Float[Tensor, "B Q D"]:
        """Return what each x reads from given keys and values."""
        return self.read(self.split(self.query(x)), keys, values, keep)

    def read(
        self,
        queries: Float[Tensor, "B H Q E"],
        keys: Float[Tensor, "B H K E"],
        values: Float[Tensor, "B H K E"],
        keep: Bool[Tensor, "#B 1 #Q #K"] | None,
    ) -> Float[Tensor, "B Q D"]:
        """Return what each query reads from given keys and values."""
        heads, _ = self.kernel(queries, keys, values, keep)
        return self.output(heads.transpose(1, 2).flatten(2))

    def packed(self) -> Packed:
        """Return the maps to queries, keys and values as one."""
        return pack(self.query, self.key, self.value)

    def project(
        self, x: Float[Tensor, "B L D"], packed: Packed
    ) -> tuple[Float[Tensor, "B H L E"], ...]:
        """Return what each of the packed maps makes of x, as heads; one product serves them all."""
        n_maps = len(packed[1]) // (self.n_heads * self.d_head)
        parts = linear(x, *packed).view(*x.shape[:2], n_maps, self.n_heads, self.d_head)
        # one copy here, in place of one for each product that needs a head's rows side by side
        return parts.permute(2, 0, 3, 1, 4).contiguous().unbind()

    def split(self, x: Float[Tensor, "B L HE"]) -> Float[Tensor, "B H L E"]:
        """Return each head's part of the width."""
        return x.view(*x.shape[:2], self.n_heads, self.d_head).transpose(1, 2)


def pack(*linears: Linear) -> Packed:
    """Return the weights of linear maps of one input, and their biases, each as one tensor."""
    weight = torch.cat([linear.weight for linear in linears])
    return weight, torch.cat([linear.bias for linear in linears])
