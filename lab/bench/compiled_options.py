"""Check that torch.compile traces training with every option of the model as a single graph.

    python -m lab.bench.compiled_options [OPTION...]

An option is written as on the command line, such as model/norm=rms_norm; without options, all are
checked. Losses and gradients of the traced graph (backend aot_eager) are compared with those of
eager mode, without dropout. Prints a row for each option and, if all are checked, the number of
graphs of a translator for batches of five shapes. Exits with 1 if an option has a break or other
numbers, or if there are more than two graphs.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

from ablate.config import CONF
from ablate.loss import LabelSmoothing, Loss
from ablate.model import Causal, Model, Seq2Seq
from ablate.testing.model import VOCAB, model_config, options, small_model

# options that are not possible everywhere, and where they are
PLACES = {
    f"model/attention={name}": (f"model/attention@model.encoder.attention={name}",)
    for name in ("linformer", "linformer_narrow")
}
REFUSED = ("model/position=recurrent",)
SIZES = ("model=decoder_only", "model=prefix_lm")
MOST_GRAPHS = 2
SHAPES = ((4, 6, 9), (5, 7, 9), (3, 8, 11), (6, 5, 6), (7, 9, 12))  # rows, source, target


def all_options() -> list[str]:
    """Return every option of the model that can be compiled."""
    of_model = [str(level) for level in options(CONF, {}) if level.group.startswith("model/")]
    return [*SIZES, *(option for option in of_model if option not in REFUSED)]


def inputs_of(option: str, rows: int = 4, source: int = 6, target: int = 9) -> Causal | Seq2Seq:
    """Return padded token ids for a language model (model=decoder_only) or a translator."""
    generator = torch.Generator().manual_seed(rows + source + target)
    src, tgt = (torch.randint(4, VOCAB, (rows, n), generator=generator) for n in (source, target))
    src[1, 4:] = tgt[0, 5:] = 0
    return Causal(tgt) if option == "model=decoder_only" else Seq2Seq(src, tgt)


def model_of(option: str) -> Model:
    """Return a small model with this option, in training mode."""
    group, _, name = option.partition("=")
    size = name if group == "model" else "micro"
    words = () if group == "model" else PLACES.get(option, (option,))
    config = model_config("model.n_layers=1", "model.dropout.rate=0.0", *words, size=size)
    return small_model(config).train()


def objective(model: Model, loss: Loss) -> Callable[..., Tensor]:
    """Return the function that training compiles: from the tokens of a batch to the objective."""

    def compute(inputs: Any, real: Tensor, targets: Tensor) -> Tensor:
        states = model(inputs).flatten(0, 1).index_select(0, real)
        return model.head.score(loss, states, targets.index_select(0, real))[0]

    return compute


def arguments(inputs: Any) -> tuple[Any, Tensor, Tensor]:
    """Return the inputs, the indices of the real targets, and the targets."""
    targets = inputs[-1].roll(-1, 1).flatten()
    return inputs, targets.nonzero()[:, 0], targets


def differences(option: str) -> tuple[float, float]:
    """Return the largest differences in the loss and in the gradients from eager mode."""
    torch._dynamo.reset()
    model = model_of(option)
    compute = objective(model, LabelSmoothing(epsilon=0.1, target="vocab"))
    traced: Any = torch.compile(compute, backend="aot_eager", fullgraph=True)
    losses: list[float] = []
    gradients = []
    for function in (compute, traced):
        model.zero_grad()
        value = function(*arguments(inputs_of(option)))
        torch.autograd.backward(value)
        losses.append(float(value.detach()))
        gradients.append([p.grad for p in model.parameters()])
    return abs(losses[0] - losses[1]), max(_distances(*gradients))


def _distances(first: list[Tensor | None], second: list[Tensor | None]) -> Iterator[float]:
    for ours, theirs in zip(first, second, strict=True):
        if ours is not None and theirs is not None:
            yield float((ours - theirs).abs().max()) if ours.numel() else 0.0
        else:
            yield 0.0 if ours is theirs else float("inf")


def graphs() -> int:
    """Return the number of graphs that a translator needs for batches of all SHAPES."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compute = objective(model_of("model=micro"), LabelSmoothing(epsilon=0.1, target="vocab"))
    traced: Any = torch.compile(compute, backend=counter, dynamic=True)
    for shape in SHAPES:
        torch.autograd.backward(traced(*arguments(inputs_of("", *shape))))
    return counter.frame_count


def main() -> None:
    """Check the options of the command line, or all, and print a row for each."""
    failed = False
    for option in sys.argv[1:] or all_options():
        try:
            loss, gradient = differences(option)
            failed |= not (loss < 1e-5 and gradient < 1e-4)
            print(f"{option}: one graph, loss {loss:.0e}, gradients {gradient:.0e}", flush=True)
        except Exception as error:  # torch raises many types
            failed = True
            print(f"{option}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    if not sys.argv[1:]:
        count = graphs()
        failed |= count > MOST_GRAPHS
        print(f"{count} graphs for batches of {len(SHAPES)} shapes")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
