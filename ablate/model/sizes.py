"""Check the sizes of a model before it is built."""

from ablate.config.limits import check_one_of
from ablate.errors import UserError


def check_positive(**sizes: int) -> None:
    """Raise UserError unless every size is at least 1."""
    for key, size in sizes.items():
        if size < 1:
            raise UserError(f"model.{key} is {size}: it must be at least 1")


def head_width(d_model: int, n_heads: int, d_head: int | None) -> int:
    """Return the width of a head: d_head, or d_model / n_heads if d_head is None.

    Raises:
        UserError: a number is below 1, or d_head is None and n_heads does not divide d_model.
    """
    check_positive(n_heads=n_heads)
    if d_head is not None:
        check_positive(d_head=d_head)
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

    Raises:
        UserError: `share_layers` is not none, pairs or all.
    """
    together = {"none": 1, "pairs": 2, "all": n_layers}
    check_one_of("model.share_layers", share_layers, together)
    return [layer // together[share_layers] for layer in range(n_layers)]
