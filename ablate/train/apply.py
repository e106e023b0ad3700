"""Use a trained model: test it at the end of its run, and generate text."""

import copy

import pytorch_lightning as pl
import torch
from jaxtyping import Int
from omegaconf import DictConfig
from torch import Tensor

from ablate.data import BOS, EOS, SEPARATORS, UNK, Documents
from ablate.data.tokenizer import Tokenizer
from ablate.errors import UserError
from ablate.metric import derived_metrics
from ablate.model import Model
from ablate.process import seed_of
from ablate.record.results import Result
from ablate.record.training import Record
from ablate.search import Sampling
from ablate.task import Task
from ablate.train.job import Job, precision_plugin
from ablate.train.module import Training

BETWEEN = "\n\n"  # text in place of an end token between two documents


class Writer:
    """A language model with its vocabulary, which generates text.

    The model reads at most as many tokens as in training, and never more than it has positions for.
    If it was not trained on contexts in which documents follow each other (`packed`), a text begins
    with BOS and ends with the first end token.

    Args:
        config: config of the run that trained the model.
        separator: text between two documents of a prompt; None: a prompt is a single document.
    """

    def __init__(
        self,
        config: DictConfig,
        model: Model,
        tokenizer: Tokenizer,
        task: Task,
        separator: str | None = None,
    ) -> None:
        self.model, self.tokenizer, self.task, self.separator = model, tokenizer, task, separator
        self.packed = config.batch.context is not None
        limits = [limit for limit in model.limits().values() if limit is not None]
        self.context = min([config.batch.context or config.batch.max_length, *limits])
        self.device = next(model.parameters()).device
        self.precision = precision_plugin(config.trainer.precision, self.device)

    def documents(self, prompt: str) -> list[str]:
        """Return the documents of a prompt; the model continues the last of them."""
        return prompt.split(self.separator) if self.separator else [prompt]

    @torch.no_grad()
    def __call__(
        self, prompt: str, *, count: int, tokens: int, sampling: Sampling, seed: int
    ) -> list[str]:
        """Return `count` continuations of a prompt, each of at most `tokens` tokens.

        The model stays in its training or evaluation mode, and no global random state changes.
        """
        generator = torch.Generator().manual_seed(seed)
        rows = self.tokenizer.encode_batch(self.documents(prompt)) if prompt else [[]]
        ids = [EOS if self.packed else BOS, *rows[0]]
        for row in rows[1:]:
            ids += [EOS, *row]
        training = self.model.training
        self.model.eval()
        texts = torch.tensor([ids] * count)
        for _ in range(tokens):
            texts = torch.cat([texts, self._next(texts, sampling, generator)[:, None]], 1)
        self.model.train(training)
        # decoded together with the last document, so that a space between them is kept
        begin, shown = len(ids) - len(rows[-1]), len(self._text(rows[-1]))
        return [self._text(row)[shown:] for row in texts[:, begin:].tolist()]

    def _next(
        self, texts: Int[Tensor, "B L"], sampling: Sampling, generator: torch.Generator
    ) -> Int[Tensor, " B"]:
        inputs = self.task.inputs_of(texts[:, -self.context :].to(self.device))
        with self.precision.forward_context():
            logits = self.model.head(self.model(inputs)[:, -1])
        return sampling(logits.cpu(), generator)

    def _text(self, ids: list[int]) -> str:
        documents: list[list[int]] = [[]]
        for token in ids:
            if token == EOS:
                documents.append([])
            else:
                documents[-1].append(token)
        texts = self.tokenizer.decode_batch(documents)
        return BETWEEN.join(texts) if self.packed else texts[0]


def separator_of(job: Job) -> str | None:
    """Return the text between two documents of the training text of a job; None if there is none.

    In training, an end token replaces this text. In a corpus without documents, every line is a
    text. The texts of `data=huggingface` and of other packages may have several lines.
    """
    usual = "file" if isinstance(job.corpus, Documents) else "line"
    return SEPARATORS[job.config.data.get("documents", usual)]


def read_prompt(raw: bytes, writer: Writer) -> str:
    """Return a prompt as text, after a check that the vocabulary has all of its characters.

    A byte-order mark is dropped. If the model was trained on separate lines, the final line feed is
    dropped, too.

    Raises:
        UserError: the prompt has several documents although the model was trained on single
            documents, or has characters that the vocabulary lacks.
    """
    prompt = raw.decode("utf-8-sig").replace("\r\n", "\n")
    if writer.separator == "\n":
        prompt = prompt.removesuffix("\n")
    documents = writer.documents(prompt)
    if len(documents) > 1 and not writer.packed:
        raise UserError(f"the prompt has {len(documents)} documents; this model continues one")
    encode = writer.tokenizer.encode_batch
    if any(UNK in row for row in encode(documents)):
        parts = sorted({*prompt.split(), *filter(str.isspace, "".join(documents))})
        unknown = [part for part in parts if UNK in encode([part])[0]]
        raise UserError(
            f"the prompt has {', '.join(map(repr, unknown[:5]))}, which the vocabulary of this "
            "model cannot spell: leave it out, or train with tokenizer=byte"
        )
    return prompt


SAMPLES, TOKENS = 3, 200
SAMPLING = Sampling(temperature=0.8, top=None)


def evaluate(job: Job, trainer: pl.Trainer, task: Training, record: Record) -> Result:
    """Test the current weights of `task`, store every translation, write the result to `record`,
    and return the result.

    With `weights=initial` in the config, the initial weights are tested instead. A tuning
    run has no test splits, so its tests, its measure and its sample texts are skipped.

    Raises:
        UserError: the files of a test split have changed since the run began.
    """
    config, tests = job.config, record.evaluation
    tests.begin()
    for split in config.test_splits:
        if task.data.evaluation_fingerprint(split) != tests.parts["data"].get(split, ""):
            raise UserError(
                f"the files of {split} have changed since this run began; the same command, typed "
                "again, tests the trained weights with the new files"
            )
    task.measured = {}
    if config.weights == "initial":
        task.load_initial()
    task.fix_weights()
    scored = task.evaluations["test"]
    for split in config.test_splits:
        task.split = split
        with tests.phase("test"):
            trainer.test(task, dataloaders=task.data.evaluation_loader(split), verbose=False)
        made = scored.hypotheses(), scored.statistics()
        count, groups = task.data.scored_lines(split), task.data.groups(split)
        tests.keep(split, *made, groups and groups[:count])
        sides = task.data.sources(split)[:count], made[0], task.data.references(split)[:count]
        for name, metric in job.metrics.items():
            task.measured[f"{split}/{name}"] = float(metric(*sides))
    task.fix_weights()
    task.measured |= derived_metrics(task.measured, task.theoretical_scores)
    if job.measure is not None and config.test_splits:
        with tests.phase("measure"):
            # a copy in float64 on the CPU
            values = job.measure(copy.deepcopy(task.model).cpu().double().eval(), task.data)
        task.measured |= {f"measure/{name}": value for name, value in values.items()}
    samples: list[str] = []
    if task.task.writes and config.test_splits:
        writer = Writer(config, task.model, task.data.tokenizers.tgt, task.task)
        tokens = min(TOKENS, config.budget.steps)  # a short run has learned little to show
        drawn = {"count": SAMPLES, "tokens": tokens, "seed": seed_of(config)}
        samples = writer("", sampling=SAMPLING, **drawn)
    about = {"signatures": scored.signatures(), "weights": record.weights_digest}
    return tests.finish("finished", task.measured, samples=samples, **about)
