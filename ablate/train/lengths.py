"""Check, before any work, that a model can decode and be measured, and has enough positions for the
longest sequences of a run.
"""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.model.base import CausalDocuments, Model, Seq2Seq
from ablate.search.base import Search
from ablate.train.job import Job

Need = tuple[int, str]  # number of tokens, and the texts that have so many


def check_lengths(job: Job, model: Model, data: TextData) -> None:
    """Raise UserError if a model cannot decode after a source sequence, cannot be measured by the
    measure of the job, or has fewer positions than the longest sequence needs.

    Args:
        job: the job.
        model: the built model; its weights may be on the meta device.
        data: the prepared data.
    """
    if job.task.inputs is Seq2Seq:
        model.check_decoding()
    if job.task.inputs is CausalDocuments:
        model.check_documents()
    if job.measure is not None:
        job.measure.check_model(model)
    if job.config.batch.context is not None:
        for _, kernel in model.attentions():
            kernel.check_context(job.config.batch.context)
    sources, targets = zip(*_needs(job, data), strict=True)
    pairs = zip(sources, targets, strict=True)
    both = [(src[0] + tgt[0], f"{src[1]} and {tgt[1]}" if src[0] else tgt[1]) for src, tgt in pairs]
    longest = model.limits()
    for side, needs in (("source", sources), ("target", targets), ("both", both)):
        limit, (tokens, what) = longest.get(side), max(needs)
        if limit is not None and tokens > limit:
            raise UserError(
                f"{_key_of(job.config, limit)}={limit} is too short for {what}, which may have "
                f"{tokens} tokens: set it to at least {tokens}, or choose another option"
            )


def _key_of(config: DictConfig, limit: int) -> str:
    """Return the config key of the position or attention component whose `max_length` is
    `limit`.
    """
    for factor in ("position", "attention"):
        for place in ("", "encoder.", "decoder.", "cross."):
            key = f"model.{place}{factor}.max_length"
            if OmegaConf.select(config, key) == limit:
                return key
    return "max_length"


def _needs(job: Job, data: TextData) -> Iterator[tuple[Need, Need]]:
    """Yield pairs of requirements: the largest number of tokens for the encoder and the decoder,
    each with the name of the texts that have so many tokens.

    There is a pair for training, for validation and for each test split. If the task generates
    text, there is also a pair for the decoding search on validation and on each test split.
    """
    unit = "targets" if job.task.reads_source else "texts"
    unit = unit if job.config.batch.context is None else "contexts"
    src, tgt = job.task.longest(*data.longest("train"))
    yield (src, "the sources of train"), (tgt, f"the {unit} of train")
    padding = job.config.batch.test_padding
    for split in ("validation", *job.config.test_splits):
        src, tgt = job.task.longest(*data.longest(split, tested=True))
        yield (src, f"the sources of {split}"), (tgt, f"the {unit} of {split}")
    if not job.task.generates:
        return
    yield _searched(data, "validation", job.validation_search, 0, "validation_search")
    for split in job.config.test_splits:
        yield _searched(data, split, job.search, padding, "search")


def _searched(
    data: TextData, split: str, search: Search, padding: int, key: str
) -> tuple[Need, Need]:
    src, tgt = data.longest(split, tested=True)
    added = f" with batch.test_padding={padding}" if padding else ""
    # the limit does not count EOS, but a search makes one more step to generate it
    hypothesis = int(search.max_ratio * (src - 1) + search.max_extra) + 1
    limits = f"{key}.max_ratio={search.max_ratio} and {key}.max_extra={search.max_extra}"
    return (src + padding, f"the sources of {split}{added}"), max(
        (tgt, f"the targets of {split}"), (hypothesis, f"translations of {split} ({limits})")
    )
