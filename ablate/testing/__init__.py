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

import copy
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

from ablate.config.construct import construct
from ablate.loss import Law as LossLaw
from ablate.model import Model
from ablate.optimizer import make_optimizer
from ablate.testing.model import EVERY, LAWS, Option, model_config, options, small_model

__all__ = ["Check", "Option", "checks"]

Law = Callable[[Option], Iterator[str]]

STEPS = 10


@cache
def _model() -> Model:
    return small_model(model_config())


class Problem:
    """A new model whose optimiser minimises the squared distance of each parameter to a goal.

    As in Lightning, the optimiser calls a closure that computes the gradients.
    """

    def __init__(self, option: Option) -> None:
        generator = torch.Generator().manual_seed(0)
        self.model = copy.deepcopy(_model())
        self.parameters = dict(self.model.named_parameters())
        self.goals = {
            name: value.detach() + torch.randn(value.shape, generator=generator)
            for name, value in self.parameters.items()
        }
        self.frozen = frozenset[str]()  # names of parameters on which the loss does not depend
        self.optimizer = make_optimizer(construct(option.config), self.model)

    def distances(self) -> dict[str, Tensor]:
        """Return the squared distance to the goal by name of the parameter."""
        free = (name for name in self.parameters if name not in self.frozen)
        return {n: (self.parameters[n] - self.goals[n]).square().sum() for n in free}

    def train(self, steps: int = STEPS) -> None:
        """Make steps of the optimiser; its random numbers depend only on `steps`."""
        with torch.random.fork_rng():
            torch.manual_seed(steps)
            for _ in range(steps):
                self.optimizer.step(self._closure)

    def _closure(self) -> float:
        self.optimizer.zero_grad()
        loss = torch.stack([*self.distances().values()]).sum()
        torch.autograd.backward(loss)
        return float(loss.detach())

    def values(self) -> dict[str, Tensor]:
        """Return a copy of the value of each parameter."""
        return {name: value.detach().clone() for name, value in self.parameters.items()}


def _changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    return [name for name, value in before.items() if not torch.equal(value, after[name])]


def groups(option: Option) -> Iterator[str]:
    """Every parameter that is trained is in exactly one parameter group."""
    problem = Problem(option)
    listed = Counter(id(p) for group in problem.optimizer.param_groups for p in group["params"])
    for name, parameter in problem.parameters.items():
        if listed[id(parameter)] != 1:
            yield f"{name} is in {listed[id(parameter)]} groups"


def descent(option: Option) -> Iterator[str]:
    """Steps with a closure bring every parameter closer to the minimum of a quadratic function."""
    problem = Problem(option)
    before = problem.distances()
    problem.train()
    after = problem.distances()
    yield from (name for name in before if not after[name] < before[name])


def schedule(option: Option) -> Iterator[str]:
    """A schedule sets the learning rate of every group: at the rate 0, a step changes nothing."""
    problem = Problem(option)
    before = problem.values()
    LambdaLR(problem.optimizer, lambda _: 0.0)
    problem.train()
    yield from _changed(before, problem.values())


def without_gradient(option: Option) -> Iterator[str]:
    """A step does not change a parameter that has no gradient."""
    problem = Problem(option)
    problem.frozen = frozenset([*problem.parameters][::2])
    before = problem.values()
    problem.train()
    yield from (name for name in _changed(before, problem.values()) if name in problem.frozen)


def resuming_changes_nothing(option: Option) -> Iterator[str]:
    """With the saved parameters and the saved state, another optimiser makes the same steps."""
    first, second = Problem(option), Problem(option)
    first.train()
    file = io.BytesIO()
    torch.save((first.model.state_dict(), first.optimizer.state_dict()), file)
    file.seek(0)
    parameters, state = torch.load(file, weights_only=True)  # as a run that continues reads them
    second.model.load_state_dict(parameters)
    second.optimizer.load_state_dict(state)
    for problem in (first, second):
        problem.train()
    yield from _changed(first.values(), second.values())


OF_OPTIMIZERS: dict[Any, Enum | None] = dict.fromkeys(
    (groups, descent, schedule, without_gradient, resuming_changes_nothing)
)


def rows() -> tuple[Float[Tensor, "9 12"], Int[Tensor, " 9"]]:
    """Return random logits that require a gradient, and random target ids without padding."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(9, 12, generator=generator, requires_grad=True)
    return logits, torch.randint(1, 12, (9,), generator=generator)


def scalars(option: Option) -> Iterator[str]:
    """The loss returns two scalars: an objective with a finite gradient, and an nll without a
    gradient.
    """
    logits, targets = rows()
    objective, nll = construct(option.config)(logits, targets)
    objective.backward()
    if not objective.shape == nll.shape == ():
        yield f"shapes {tuple(objective.shape)} and {tuple(nll.shape)}"
    if logits.grad is None or not logits.grad.isfinite().all():
        yield "no finite gradient"
    if nll.requires_grad:
        yield "the nll has a gradient"


def nll_is_unsmoothed(option: Option) -> Iterator[str]:
    """The second scalar that the loss returns is the mean negative log-likelihood without
    smoothing.
    """
    logits, targets = rows()
    _, nll = construct(option.config)(logits, targets)
    expected = F.cross_entropy(logits, targets)
    if not torch.allclose(nll, expected.detach()):
        yield f"{nll:.4f} for {expected:.4f}"


def nll_without_smoothing(option: Option) -> Iterator[str]:
    """With `epsilon` 0, or without this setting, the objective equals the negative
    log-likelihood.
    """
    plain: Any = {**option.config, "epsilon": 0.0} if "epsilon" in option.config else option.config
    objective, nll = construct(plain)(*rows())
    if not torch.allclose(objective, nll):
        yield f"{objective:.4f} for {nll:.4f}"


def chunks(option: Option) -> Iterator[str]:
    """If the objective is a mean over rows, it does not depend on how the rows are split into
    chunks.
    """
    loss = construct(option.config)
    if not loss.mean_over_rows:
        return
    logits, targets = rows()
    whole, first, second = (
        loss(logits[part], targets[part])[0] for part in (slice(9), slice(6), slice(6, 9))
    )
    if not torch.allclose(whole, (6 * first + 3 * second) / 9):
        yield "6 and 3 rows have another mean than 9"


# for each law: the entry of `breaks` by which a class declares that it violates the law; None: no
# class may violate the law
OF_ALL: dict[Law, Enum | None] = dict.fromkeys(EVERY)
OF_MODELS: dict[Law, Enum | None] = {**OF_ALL, **LAWS}
OF_LOSSES: dict[Law, Enum | None] = {
    **OF_ALL,
    scalars: None,
    nll_is_unsmoothed: None,
    nll_without_smoothing: LossLaw.NLL_WITHOUT_SMOOTHING,
    chunks: None,
}
# all other groups are of a model
BY_GROUP = {"loss": OF_LOSSES, "optimizer": OF_OPTIMIZERS}


@dataclass(frozen=True)
class Check:
    """A test that one option satisfies one law; call the object to run the test.

    A law is a property that every option must have. `declared` is the entry of `breaks` by which a
    class declares that it violates the law; None: no class may violate it.
    """

    option: Option
    law: Law
    declared: Enum | None

    def __str__(self) -> str:
        return f"{self.option}-{self.law.__name__}"

    def __call__(self) -> None:
        """Check that the option satisfies the law, or violates it if its class declares that.

        Raises:
            AssertionError: the option violates the law without a declaration in `breaks`, or
                satisfies the law in spite of a declaration.
        """
        wrong = [*self.law(self.option)]
        excused = self.declared in self.option.breaks
        if wrong and not excused:
            raise AssertionError(
                f"{self.option} breaks a law: {self.statement} ({', '.join(wrong)})"
            )
        if excused and not wrong:
            raise AssertionError(
                f"{self.option} keeps a law that it declares to break: {self.statement}"
            )

    @property
    def statement(self) -> str:
        """The docstring of the tested property, for error messages."""
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
        Check(option, law, declared)
        for option in options(Path(folder), places or {})
        for law, declared in BY_GROUP.get(option.group, OF_MODELS).items()
    ]
