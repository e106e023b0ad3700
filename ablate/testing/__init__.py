"""Tests that every option must pass, for this package and for packages of users. A package with its
own options applies them to its config folder:

    import pytest
    from ablate.testing import checks

    @pytest.mark.parametrize("check", checks("conf"), ids=str)
    def test_our_levels_keep_the_laws(check):
        check()

Options of `model` are put into a small Transformer with default components; losses receive random
logits; optimisers train the parameters of a small Transformer. An option that violates a law of
`ablate.model` declares it in `breaks` of its class; then the test requires the violation.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ablate.testing import model, training
from ablate.testing.model import EVERY, Level, levels

__all__ = ["Check", "Level", "checks"]

Law = Callable[[Level], Iterator[str]]
# for each law: the entry of `breaks` by which a class declares that it violates the law; None: no
# class may violate the law
OF_ALL: dict[Law, Enum | None] = dict.fromkeys(EVERY)
OF_MODELS: dict[Law, Enum | None] = {**OF_ALL, **model.LAWS}
OF_LOSSES: dict[Law, Enum | None] = {**OF_ALL, **training.OF_LOSSES}
# all other groups are of a model
BY_GROUP = {"loss": OF_LOSSES, "optimizer": training.OF_OPTIMIZERS}


@dataclass(frozen=True)
class Check:
    """A test that one option satisfies one law; call the object to run the test.

    A law is a property that every option must have. `declared` is the entry of `breaks` by which a
    class declares that it violates the law; None: no class may violate it.
    """

    level: Level
    law: Law
    declared: Enum | None

    def __str__(self) -> str:
        return f"{self.level}-{self.law.__name__}"

    def __call__(self) -> None:
        """Check that the option satisfies the law, or violates it if its class declares that.

        Raises:
            AssertionError: the option violates the law without a declaration in `breaks`, or
                satisfies the law in spite of a declaration.
        """
        wrong = [*self.law(self.level)]
        excused = self.declared in self.level.breaks
        if wrong and not excused:
            raise AssertionError(
                f"{self.level} breaks a law: {self.statement} ({', '.join(wrong)})"
            )
        if excused and not wrong:
            raise AssertionError(
                f"{self.level} keeps a law that it declares to break: {self.statement}"
            )

    @property
    def statement(self) -> str:
        """The law in words, for error messages: the docstring of its function."""
        return " ".join((self.law.__doc__ or "").split()).removesuffix(".")


def checks(folder: Path | str, places: dict[str, tuple[str, ...]] | None = None) -> list[Check]:
    """Return a check for every option in a config folder and every law that applies to it.

    A law is a property that is tested for all options.

    Args:
        folder: the root of the configs, as for `--config-dir`: it has `model/FACTOR/LEVEL.yaml`,
            `loss/LEVEL.yaml` or `optimizer/LEVEL.yaml`.
        places: for options that do not work everywhere, by "model/FACTOR=LEVEL": overrides that use
            the option only where it works, such as "model/attention@model.cross.attention=LEVEL".

    Raises:
        UserError: the folder has no options.
    """
    return [
        Check(level, law, declared)
        for level in levels(Path(folder), places or {})
        for law, declared in BY_GROUP.get(level.group, OF_MODELS).items()
    ]
