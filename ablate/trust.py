"""Which classes a config that came with a checkpoint may name.

Building what a config names runs its code, so a run folder from elsewhere could do anything. Only
classes of three packages, and of those that the user names, are ever built.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from hydra.utils import get_object

from ablate.errors import UserError

PACKAGES = ("ablate", "torch", "pytorch_lightning")


def check_targets(config: dict[str, Any], trust: Sequence[str]) -> None:
    """Refuse plain config (dicts and lists) that names anything but classes of trusted packages.

    Imports the modules of the classes that it accepts.

    Raises:
        UserError: a `_target_` lies elsewhere, is no class, or does not exist.
    """
    allowed = (*PACKAGES, *trust)
    for key, target in _targets(config, ""):
        if not _lies_in(target, allowed):
            raise _refusal(key, target, "is not trusted", allowed)
        try:
            found = get_object(target)
        except Exception as error:  # importing a module can raise anything
            reason = str(error.__cause__ or error).splitlines()[0]
            raise UserError(f"{key} is {target!r}, which cannot be loaded: {reason}") from None
        # A trusted module's own imports are not trusted: ablate.run.sys leads to sys.
        if not isinstance(found, type) or not _lies_in(found.__module__, allowed):
            raise _refusal(key, target, "is not a class of a trusted package", allowed)


def _targets(node: dict[Any, Any] | list[Any], key: str) -> Iterator[tuple[str, Any]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for name, child in pairs:
        path = f"{key}.{name}" if key else str(name)
        if name == "_target_":
            yield path, child
        if isinstance(child, dict | list):
            yield from _targets(child, path)


def _lies_in(name: Any, packages: Sequence[str]) -> bool:
    return isinstance(name, str) and any(f"{name}.".startswith(f"{p}.") for p in packages)


def _refusal(key: str, target: Any, why: str, allowed: Sequence[str]) -> UserError:
    return UserError(
        f"{key} is {target!r}, which {why}: allowed are classes of {', '.join(allowed)}; "
        "name another package that you trust with trust=[package]"
    )
