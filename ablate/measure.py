"""Measure properties of a tested model in addition to its scores."""

import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.data import PAD, Corpus
from ablate.data.module import TextData
from ablate.data.packed import PackedData
from ablate.data.toy import Toy
from ablate.errors import UserError
from ablate.loss import CrossEntropy
from ablate.model import Causal, Model
from ablate.model.attention import attention_weights, check_weights
from ablate.model.layers import product_counter
from ablate.model.transformer import Transformer


class Measure(ABC):
    """Analyses the model that a run tests; an option of `measure`.

    The model is trained, or untrained with `weights=initial`. A measure is computed only in
    testing, so it can be added without training again. `needs` is the required class of the model,
    and `knows` the required class of the corpus. `measures` lists the names of all results, so that
    a claim about an unknown metric is rejected before a sweep starts.
    """

    needs: ClassVar[type[Model]] = Transformer
    knows: ClassVar[type[Corpus]] = Toy
    measures: ClassVar[tuple[str, ...]] = ()
    reads_weights: ClassVar[bool] = False  # whether it reads the attention weights of the model

    def check(self, data: TextData) -> None:  # noqa: B027 -- most measures work with any text
        """Raise UserError if this measure does not work with the prepared text.

        This method is called before training.
        """

    def check_model(self, model: Any) -> None:
        """Raise UserError if this measure does not work with the components of a model.

        This method is called before training, with a built model whose weights may be on the meta
        device.
        """
        if self.reads_weights:
            check_weights(model)

    @abstractmethod
    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the measured values by name.

        In the metrics of a run, the names have the prefix `measure/`. `model` is a copy that this
        call may change: in float64, on the CPU, and without dropout.
        """


AT_ONCE = 16  # number of contexts that a model reads together, so that memory is bounded


class ContextMeasure(Measure):
    """Analyses a language model that reads contexts in which each token sees all earlier tokens.

    Args:
        contexts: maximum number of test contexts that are read.
    """

    needs = Model
    knows = Corpus

    def __init__(self, *, contexts: Count) -> None:
        self.contexts = contexts

    def check(self, data: TextData) -> None:
        """Raise UserError unless the task is language modelling on contexts, in which each token
        sees all earlier tokens.
        """
        reads = data.first_lines("test", 1).inputs
        if not (isinstance(data, PackedData) and isinstance(reads, Causal)):
            raise UserError(
                f"measure {type(self).__name__} reads contexts in which tokens see all before: it "
                "needs task=language_model, batch.context and task.attention=context"
            )

    def read(self, data: TextData) -> Iterator[tuple[Causal, Int[Tensor, "B L"]]]:
        """Yield the inputs and the targets of a few contexts at a time."""
        batch = data.first_lines("test", self.contexts)
        both: tuple[Any, Any] = (batch.inputs.tokens, batch.targets)
        parts = zip(*(rows.split(AT_ONCE) for rows in both), strict=True)
        return ((Causal(part), targets) for part, targets in parts)


class FirstToken(ContextMeasure):
    """Measure how much attention a language model pays to the first token of its context.

    Measures the mean attention weight on the first token of a context.

    Equation: the mean of the attention weight of key 0, over all layers whose attention has weights
        that are shares, heads, full test contexts, and queries in the second half of the context.
    Source: arXiv:2309.17453, section 3.1, which finds large weights on the first tokens of a text.
    What differs: the source shows averages for single layers and heads of models with billions of
        parameters, and counts the first four tokens.
    What to expect: attention that is spread evenly over a context of 64 tokens gives 0.02. If heads
        put the weight that they do not need on the first token, the value is higher.

    Args:
        contexts: maximum number of test contexts that are read.
    """

    measures = ("first_token",)

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean weight on the first token; the dictionary is empty for a model without
        attention weights, and for a test text without a full context.
        """
        self.check(data)
        weights = []
        for inputs, targets in self.read(data):
            full, half = (targets != PAD).all(1), targets.size(1) // 2
            for layer in attention_weights(model, inputs, partial=True).values():
                weights.append(layer[full, :, half:, 0].flatten())
        measured = torch.cat(weights) if weights else torch.empty(0)
        return {"first_token": float(measured.mean())} if len(measured) else {}


class LogPartition(ContextMeasure):
    """Measure how far the logits of a language model have drifted from normalised
    log-probabilities.

    Measures the mean size of the logarithm of the softmax's denominator.

    Equation: the mean of |log Z| over the predicted tokens, where Z = sum_v exp x_v for logits x.
    Source: arXiv:2309.14322, section 3.1.2, where log Z falls far below 0 in training at high
        learning rates, unless z-loss is used.
    What differs: the source plots the mean of log Z during training; here it is measured in the
        test. The absolute value is taken, because log Z may drift in both directions.
    What to expect: an untrained model with logits near 0 has log V for V tokens. A loss without a
        penalty does not depend on log Z, so nothing keeps log Z near 0.

    Args:
        contexts: maximum number of test contexts that are read.
    """

    measures = ("log_partition",)

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean of |log Z| in nats over the predicted tokens."""
        self.check(data)
        with torch.no_grad():
            sizes = [
                model.head(model(inputs)).logsumexp(-1).abs()[targets != PAD]
                for inputs, targets in self.read(data)
            ]
        return {"log_partition": float(torch.cat(sizes).mean())}


class LongerContexts(ContextMeasure):
    """Measure how well a language model predicts text in longer contexts than in training.

    Measures the nll of a language model on test contexts that are longer than in training.

    Equation: `factor` neighbouring contexts of the test text, each of length L, are joined to one
        longer context. `within` is the mean nll of tokens at positions below L. `beyond` is the
        mean nll of tokens at positions from L on, which do not occur in training. Both are in nats
        per token.
    Source: arXiv:2108.12409, section 3, which tests models on longer contexts; arXiv:2305.19466,
        which does so for models without positions.
    What differs: longer contexts do not overlap, so tokens at positions from L on have between L
        and factor * L tokens before them.
    What to expect: if a model makes use of the longer context, `beyond` is lower than `within`. If
        its positions do not generalise to longer contexts, `beyond` is higher.

    Args:
        factor: number of training contexts that are joined to one longer context, at least 2.
        contexts: maximum number of longer contexts that are scored.

    Raises:
        UserError: `factor` is below 2.
    """

    measures = ("within", "beyond")

    def __init__(self, *, factor: Count, contexts: Count) -> None:
        if factor < 2:
            raise UserError(
                f"measure.factor is {factor}; it must be 2 or more, because it says how many times "
                "longer the test contexts are"
            )
        super().__init__(contexts=contexts)
        self.factor = factor

    def check(self, data: TextData) -> None:
        """Check that the task has contexts, and that the test text has enough of them.

        Raises:
            UserError: the task is not language modelling on contexts in which each token sees all
                earlier tokens, or the test text has fewer than `factor` full contexts.
        """
        super().check(data)
        batch = data.first_lines("test", self.factor)
        whole = int((batch.targets != PAD).all(1).sum())
        if whole < self.factor:
            raise UserError(
                f"measure=longer_contexts needs {self.factor} whole contexts of test, but there "
                f"are {whole}: give more text, or a shorter batch.context"
            )

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean nll in nats per token, "within" and "beyond" the training length."""
        self.check(data)
        batch = data.first_lines("test", self.contexts * self.factor)
        full = (batch.targets != PAD).all(1)
        tokens, targets = (self._joined(x[full]) for x in (batch.inputs.tokens, batch.targets))
        length = batch.targets.size(1)
        nll = torch.cat([_nll(model, *row) for row in zip(tokens, targets, strict=True)])
        return {"within": float(nll[:, :length].mean()), "beyond": float(nll[:, length:].mean())}

    def _joined(self, rows: Tensor) -> Tensor:
        """Return rows of `factor` successive contexts each; the contexts left over are dropped."""
        whole = len(rows) // self.factor * self.factor
        return rows[:whole].reshape(-1, self.factor * rows.size(1))


def _nll(model: Any, tokens: Tensor, targets: Tensor) -> Tensor:
    with torch.no_grad():
        scores = model.head(model(Causal(tokens[None])))
    return -scores.log_softmax(-1).gather(-1, targets[None, :, None]).squeeze(-1)


WARM_UP = 2  # steps before the timed ones


class TrainingCost(Measure):
    """Measure the cost of a training step per token: processor time, operations, and memory.

    Measures time, operations and memory of training steps on training text, in float32.

    Equation: a step is forward pass, loss and backward pass for the first `sentences` rows of the
        training split, without the optimiser. All three results are divided by the number of
        tokens: microseconds, the median processor time of `repeats` steps; operations, the
        floating-point operations of all matrix products; bytes, the size of the tensors that
        autograd stores for the backward pass, without parameters.
    Source: torch.autograd.graph.saved_tensors_hooks; `ablate.model.layers` counts the
        operations.
    What differs: the time is processor time and not wall time, so that other processes matter less.
        Operations other than matrix products, such as norms and activations, are not counted.
    What to expect: operations and bytes are the same on every machine. Microseconds depend on the
        machine and its number of threads, and vary by some per cent between runs.

    Args:
        sentences: number of rows in the batch: sentence pairs, texts, or contexts.
        repeats: number of timed training steps, whose median time is reported.
    """

    needs = Model
    knows = Corpus
    measures = ("microseconds", "operations", "bytes")

    def __init__(self, *, sentences: Count, repeats: Count) -> None:
        self.sentences, self.repeats = sentences, repeats

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the cost of a training step per token: microseconds, operations and bytes."""
        model = model.float().train()
        batch = data.first_lines("train", self.sentences)
        real = batch.targets != PAD
        loss, tokens = CrossEntropy(), int(real.sum())

        def step() -> None:
            states = model(batch.inputs)[real]
            torch.autograd.backward(model.head.score(loss, states, batch.targets[real])[0])

        with torch.enable_grad():
            kept = _kept_bytes(step, model)
            with product_counter() as counter:
                step()
            seconds = _seconds(step, self.repeats)
        return {
            "microseconds": 1e6 * seconds / tokens,
            "operations": counter.get_total_flops() / tokens,
            "bytes": kept / tokens,
        }


def _kept_bytes(step: Any, model: Model) -> int:
    """Return the total size, in bytes, of the tensors that autograd stores for a backward pass.

    `step` is a function that makes a training step.
    """
    parameters = {p.untyped_storage().data_ptr() for p in model.parameters()}
    sizes: dict[int, int] = {}
    alive: list[Tensor] = []  # keeps tensors alive, so that no address is reused

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            alive.append(tensor)
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        step()
    return sum(sizes.values())


def _seconds(step: Any, repeats: int) -> float:
    """Return the median processor time, in seconds, of a training step.

    `step` is a function that makes the step; it is timed `repeats` times after some warm-up.
    """
    times = []
    for _ in range(WARM_UP + repeats):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return statistics.median(times[WARM_UP:])
