"""One law, applied to one level."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ablate.testing import documented, loss, model
from ablate.testing.level import Level, levels

Law = Callable[[Level], Iterator[str]]
# laws, each with what a class that breaks it declares; None: no class may break it
OF_ALL: dict[Law, Enum | None] = dict.fromkeys(documented.LAWS)
OF_MODELS: dict[Law, Enum | None] = {**OF_ALL, **model.LAWS}
OF_LOSSES: dict[Law, Enum | None] = {**OF_ALL, **loss.LAWS}


@dataclass(frozen=True)
class Check:
    """Call it to apply the law to the level."""

    level: Level
    law: Law
    declared: Enum | None

    def __str__(self) -> str:
        return f"{self.level}-{self.law.__name__}"

    def __call__(self) -> None:
        """Apply the law.

        Raises:
            AssertionError: the level breaks the law, or keeps one that its class declares to break;
                the sentence says what broke it.
        """
        wrong = [*self.law(self.level)]
        excused = self.declared in self.level.breaks
        if wrong and not excused:
            raise AssertionError(f"{self.level} breaks a law: {self.said} ({', '.join(wrong)})")
        if excused and not wrong:
            raise AssertionError(f"{self.level} keeps a law that it declares to break: {self.said}")

    @property
    def said(self) -> str:
        """The law in words."""
        return " ".join((self.law.__doc__ or "").split()).removesuffix(".")


def checks(folder: Path | str, places: dict[str, tuple[str, ...]] | None = None) -> list[Check]:
    """Every law that applies to every level whose YAML lies in a config folder.

    Args:
        folder: the root of the configs, as for `--config-dir`: it has `model/FACTOR/LEVEL.yaml`.
        places: for levels that cannot stand everywhere, by "model/FACTOR=LEVEL", the words that
            choose them where they can: "model/attention@model.cross.attention=LEVEL".

    Raises:
        UserError: the folder has no such level.
    """
    return [
        Check(level, law, declared)
        for level in levels(Path(folder), places or {})
        for law, declared in (OF_LOSSES if level.group == "loss" else OF_MODELS).items()
    ]
