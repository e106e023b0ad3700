"""Initial weights from other distributions, and with other output projections."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from ablate.config.limits import OneOf, Range
from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.initial import Initial, adjust, fill, initialise
from ablate.model import Model
from ablate.model.embedding import Table
from ablate.model.parametrisation import parametrisation_of
from ablate.model.projections import Identity, Repeated
from ablate.model.residual import Residual
from ablate.model.stack import Stack
from ablate.process import stream


class Normal(Initial):
    """Initialise all matrices of a model from one normal distribution.

    Draws every matrix from one normal distribution.

    Equation: every matrix, including embeddings and learned positions, is normal with mean 0 and
        standard deviation `std`. Biases are 0 and gains 1.
    Source: arXiv:1810.04805 (BERT), whose code uses 0.02 for all matrices, truncated at two
        standard deviations.
    What differs: there is no truncation, and every parameter has a separate random generator. A
        component that scales initial values, such as model/residual=deep_norm, also scales these
        values.
    What to expect: trains well with few layers. The residual stream grows with depth, which
        `initial=gpt2` counteracts. A width far from 600 requires another `std`.

    Args:
        std: standard deviation of the initial values of every matrix.
    """

    def __init__(self, *, std: Annotated[float, Range(0)]) -> None:
        self.std = std

    def check(self, model: Model) -> None:
        """Raise UserError if the parametrisation, such as muP, requires a standard deviation that
        depends on the width.
        """
        if parametrisation_of(model).rates_by_role:
            raise UserError(
                "initial=normal and initial=gpt2 have one standard deviation for all widths, and "
                "model/parametrisation wants one for each: choose initial=seeded"
            )

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        self.check(model)
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(prefix=path, recurse=False):
                generator = torch.Generator(parameter.device).manual_seed(stream(seed, name))
                if parameter.dim() > 1:
                    nn.init.normal_(parameter, std=self.std, generator=generator)
                else:
                    fill(module, name, parameter, generator)
        adjust(model, without=Repeated)  # which would rescale from the Xavier range


class Gpt2(Normal):
    """Initialise as GPT-2: all matrices from one normal distribution, output projections scaled
    down.

    Draws every matrix from one normal distribution, and scales the output projections down.

    Equation: every matrix is normal with standard deviation `std`. The output projections of
        attention and of feed-forward sub-layers are then divided by sqrt(n), where n is the number
        of sub-layers of their stack. Biases are 0 and gains 1.
    Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1; 0.02 is the
        standard deviation in the authors' code.
    What differs: every parameter has a separate random generator. n counts the sub-layers of one
        stack; a sub-layer whose weights are shared counts each time it is used.
    What to expect: an initial nll of ln V, because hidden states (and with a tied matrix, logits)
        are small. Combine it with model.embedding.scaled=false, as in GPT-2.

    Args:
        std: standard deviation of initial values, except in output projections.

    Raises:
        UserError: when called, the residual connections already scale with depth.
    """

    def check(self, model: Model) -> None:
        """Raise UserError for muP, and for residual connections with their own depth rule."""
        super().check(model)
        check_depth_rule(model, "gpt2")

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        super().__call__(model, tokenizers, seed)
        for matrix, sublayers in output_projections(model):
            matrix.div_(sublayers**0.5)


ENDS = ("output.weight", "outer.weight")  # suffixes of the names of output projections


class ChangedOutputs(Initial):
    """Changes the output projections after another option has drawn the initial values.

    Args:
        of: the option of `initial` that draws all initial values.
    """

    name: ClassVar[str]  # of the option of `initial`, for messages

    def __init__(self, *, of: Initial) -> None:
        self.of = of

    def check(self, model: Model) -> None:
        """Raise UserError if a model, or its attention alone, has no output projections."""
        self.of.check(model)
        modules = model.named_modules()
        if any(name.endswith("output") and isinstance(part, Identity) for name, part in modules):
            raise UserError(
                f"initial={self.name} changes the output projections of sub-layers, but attention "
                "has none with model.projections.output=identity: set it to learned, or choose "
                "initial=seeded"
            )
        if not any(True for _ in output_projections(model)):
            raise UserError(
                f"initial={self.name} changes the output projections of sub-layers, but this "
                f"{type(model).__name__} has none: choose another model, or initial=seeded"
            )

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        self.check(model)
        self.of(model, tokenizers, seed)
        for matrix, sublayers in output_projections(model):
            self.change(matrix, sublayers)

    @abstractmethod
    def change(self, matrix: Tensor, sublayers: int) -> None:
        """Change an output projection in place; its stack has `sublayers` sub-layers."""

    def fingerprint(self) -> str:
        """Return the hash of the files that the option `of` reads; "" if it reads no files."""
        return self.of.fingerprint()


def output_projections(model: Model) -> Iterator[tuple[Tensor, int]]:
    """Yield the output projection of every sub-layer, and the depth of the sub-layer's stack.

    The depth is the number of sub-layers in the stack. A sub-layer whose weights are shared counts
    each time it is used, but its projection is yielded once.
    """
    for stack in model.modules():
        if isinstance(stack, Stack):
            named = stack.layers.named_parameters()
            for matrix in {parameter for name, parameter in named if name.endswith(ENDS)}:
                yield matrix, len(stack.sublayers)


def residuals(model: Model) -> Iterator[Residual]:
    """Yield the residual connections of each stack of a model."""
    yield from (part for part in model.modules() if isinstance(part, Residual))


def check_depth_rule(model: Model, level: str) -> None:
    """Raise UserError if the residual connections already scale initial values with depth.

    `level` is the option of `initial` that would scale them a second time; it is used in the
    message.
    """
    for residual in residuals(model):
        if type(residual).gain is not Residual.gain:
            raise UserError(
                f"initial={level} makes output projections smaller by the depth, and so does "
                f"model/residual ({type(residual).__name__}): choose initial=seeded or "
                "initial=normal, or another model/residual"
            )


class DepthScaled(ChangedOutputs):
    """Output projections with smaller initial values in deeper stacks.

    Scales the output projections down after another option has drawn the initial values.

    Equation: option `of` draws the initial values; then the output projections of attention and
        feed-forward sub-layers are divided by sqrt(n), where n is the number of sub-layers of their
        stack.
    Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1.
    What differs: `of` may be any option of `initial`. GPT-2 draws from one normal distribution;
        `initial=gpt2` combines this with the scaling. If a norm directly follows the sub-layer, as
        in model/residual=peri_ln, the scaling has hardly any effect.
    What to expect: at the start, the output of a deep stack is about as large as that of a shallow
        stack. Deep Pre-LN stacks therefore train a little faster at first; with few layers there is
        hardly a difference.

    Args:
        of: the option of `initial` that draws all initial values.

    Raises:
        UserError: when called, the model, or its attention, has no output projections, or its
            residual connections already scale with depth.
    """

    name = "depth_scaled"

    def check(self, model: Model) -> None:
        """Raise UserError for a model without output projections, or with its own depth rule."""
        super().check(model)
        check_depth_rule(model, self.name)

    def change(self, matrix: Tensor, sublayers: int) -> None:
        """Divide an output projection by the root of the number of sub-layers."""
        matrix.div_(sublayers**0.5)


class ZeroOutput(ChangedOutputs):
    """Initialise output projections with zero, so that every sub-layer adds nothing at first.

    Sets output projections to 0 after another option has drawn the initial values.

    Equation: option `of` draws the initial values; then the output projections of attention and
        feed-forward sub-layers are set to 0. With Pre-LN, a stack starts as the identity.
    Source: arXiv:1901.09321, section 3.1 (Fixup: the last layer of each residual branch starts at
        0). arXiv:2003.04887 (ReZero) multiplies every branch by 0 for the same purpose.
    What differs: Fixup has no norms and scales the other layers as well; ReZero learns the factor.
        A residual connection that normalises the output of the sub-layer alone (peri_ln, none) is
        refused: the norm of 0 has gradients of size 1 / sqrt(eps), and after one step the output is
        as large as without this option. Without a skip connection all gradients would be 0.
    What to expect: signals and gradients pass the stack undiminished at any depth. In the first
        step, only the output projections and parameters outside the stack have non-zero gradients.

    Args:
        of: the option of `initial` that draws all other initial values.

    Raises:
        UserError: when called, the model, or its attention, has no output projections, or its
            residual connections normalise the output of a sub-layer alone.
    """

    name = "zero_output"

    def check(self, model: Model) -> None:
        """Raise UserError for a model without output projections, or with norms after them."""
        super().check(model)
        for residual in residuals(model):
            if residual.normalises_outputs:
                raise UserError(
                    "initial=zero_output sets the outputs of sub-layers to 0, but model/residual "
                    f"({type(residual).__name__}) divides them by their size: a first step of any "
                    "size would make them as large as without this option, or all gradients would "
                    "be 0. Choose initial=seeded, or another model/residual, such as pre_ln"
                )

    def change(self, matrix: Tensor, sublayers: int) -> None:
        """Set an output projection to 0."""
        matrix.zero_()


VALUES = ("normal", "normal_scaled", "uniform", "xavier", "orthogonal")


class Embeddings(Initial):
    """Initialise embeddings from a chosen distribution, and other parameters as `initial=seeded`
    does.

    Draws the embeddings from a chosen distribution, and all other parameters as `seeded` does.

    Equation: the embedding matrix E has V rows of width d. `normal`: normal with standard deviation
        1; `normal_scaled`: normal with standard deviation d^-0.5, as in `seeded`; `uniform`:
        uniform in +-0.08; `xavier`: uniform in +-sqrt(6 / (V + d)); `orthogonal`: E^T E = (V / d)
        I, so that the mean of the squared norms of rows is 1; if V < d, E E^T = I.
    Source: normal: torch.nn.Embedding; uniform: arXiv:1409.3215, section 3.4; orthogonal:
        arXiv:1312.6120, section 3.
    What differs: if model.embedding.scaled is true, looked-up embeddings are multiplied by sqrt(d),
        as with all options. A tied matrix is also the output projection. To keep random embeddings
        fixed, use adapt=freeze.
    What to expect: with Adam, little difference at the end of training; with tied matrices,
        `normal` starts at an nll far above ln V, and training needs more steps.

    Args:
        values: distribution of the embeddings: normal | normal_scaled | uniform | xavier |
            orthogonal.

    Raises:
        UserError: when called, the parametrisation, such as muP, scales the initial embeddings.
    """

    def __init__(self, *, values: Annotated[str, OneOf(VALUES)]) -> None:
        self.values = values

    def check(self, model: Model) -> None:
        """Raise UserError if the parametrisation, such as muP, scales the initial embeddings."""
        if parametrisation_of(model).rates_by_role:
            raise UserError(
                f"initial.values={self.values} would replace the embeddings that "
                "model/parametrisation scales by the width: choose initial=seeded"
            )

    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        self.check(model)
        initialise(model, seed)
        for name, table in model.named_modules():
            if isinstance(table, Table):
                generator = torch.Generator(table.weight.device)
                generator.manual_seed(stream(seed, f"{name}.weight"))
                draw(self.values, table.weight, generator)


@torch.no_grad()
def draw(values: str, weight: Tensor, generator: torch.Generator) -> None:
    """Fill an embedding matrix in place with values from the distribution that `values` names."""
    vocab, width = weight.shape
    if values == "normal":
        nn.init.normal_(weight, generator=generator)
    elif values == "normal_scaled":
        nn.init.normal_(weight, std=width**-0.5, generator=generator)
    elif values == "uniform":
        nn.init.uniform_(weight, -0.08, 0.08, generator=generator)
    elif values == "xavier":
        nn.init.xavier_uniform_(weight, generator=generator)
    else:
        gain = max(1.0, vocab / width) ** 0.5
        nn.init.orthogonal_(weight, gain=gain, generator=generator)
