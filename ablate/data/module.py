"""Provide the data of a run: vocabularies, token ids, batches and reference texts."""

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytorch_lightning as pl

from ablate.config.schema import Batching
from ablate.data import PAD, Corpus, Pairs, TextLength, check_split
from ablate.data.batching import (
    Batch,
    Batches,
    Collate,
    Epochs,
    EvaluationLoader,
    Examples,
    Ids,
    Rank,
    ScoredTargets,
    Sizes,
    TrainingLoader,
    evaluation_batches,
    numbered,
    training_batches,
)
from ablate.data.cache import TokenCache, open_cache, splits_of
from ablate.data.tokenizer import AnyScheme, TokenIds, Tokenizers
from ablate.errors import UserError
from ablate.record.results import Fingerprints

CHUNK = 4096  # sentences processed at a time


class Counts(NamedTuple):
    """Number of pairs of a split, and how many of these pairs were skipped or truncated."""

    pairs: int  # lines of the split
    skipped: int  # pairs dropped because one side is too long
    truncated: int  # pairs with at least one truncated side


class TextData(pl.LightningDataModule):
    """A Lightning data module that makes batches for a task from a corpus.

    Call `prepare` first. In training, pairs with more than `batch.max_length` tokens on a side
    (including EOS) are skipped or truncated, depending on `batch.too_long`. Evaluation keeps every
    sentence: its ids are truncated, but its reference text is not. With `batch.scored_tokens`, it
    scores only the first sentences.

    Args:
        corpus: the texts of all splits.
        scheme: the method that learns the vocabularies, or vocabularies that already exist.
        collate: function that builds a batch for the task.
        scored_targets: function that returns the targets that the task can score; None: `collate`
            supplies them.
        cache_dir: folder where token ids are cached.
        seed: seed of the order of batches, and of random numbers that the task draws.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        corpus: Corpus,
        scheme: AnyScheme,
        collate: Collate,
        scored_targets: ScoredTargets | None = None,
        batch: Batching,
        cache_dir: str,
        seed: int,
    ):
        super().__init__()
        self._corpus = corpus
        self._scheme = scheme
        self._splits = splits_of(corpus, scheme)
        self._collate = collate
        self._scored = scored_targets or (lambda *lines: collate(*lines).targets.numpy())
        self._batch = batch
        self._cache_dir = Path(cache_dir)
        self._seed = seed
        self._text: dict[str, Pairs] = {}
        self._used: dict[tuple[str, bool], Sizes] = {}

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""
        return self._corpus.languages

    @property
    def about(self) -> str:
        """The sizes of the corpus: "900 pairs of train, 100 of validation ..."."""
        unit = "pairs" if self.languages[0] else "texts"
        sizes = [f"{counts.pairs:,} of {split}" for split, counts in self.counts.items()]
        return ", ".join(sizes).replace(" of", f" {unit} of", 1)

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """Hashes of the text that training reads, and of the text that only a test reads."""
        return self._corpus.fingerprints()

    def evaluation_fingerprint(self, split: str) -> str:
        """Return a hash of the text and the groups that a test of this split reads, but training
        does not.
        """
        return self._corpus.evaluation_fingerprint(split)

    def prepare(self) -> None:
        """Create vocabularies and token ids, or load them from the cache, and check the token
        budgets.

        This method may be called repeatedly, and by several processes at once.

        Raises:
            UserError: text, vocabulary size or token budgets are not usable.
        """
        self._check_train()
        for split in self._splits:
            if split != "train":
                self.check_evaluation(split)

    def check_evaluation(self, split: str) -> None:
        """Raise UserError unless a split can be scored; create its token ids or load them from the
        cache.

        Raises:
            UserError: the split is empty, or the token budget is not usable.
        """
        if not self._cache.length(split).bytes:  # texts may be empty
            raise UserError(f"{split} has no text to score models on; give text for {split}.")
        self._check_longest(split, "eval_tokens", tested=True)

    def check_test(self, split: str) -> None:
        """Raise UserError unless the text of a split can be used for a test.

        Raises:
            UserError: the split is empty, the numbers of its sources, references and groups
                differ, or a sentence is longer than a batch.
        """
        src, tgt = self._read(split)
        if not len(src) == len(tgt) > 0:
            raise UserError(
                f"{split} has {len(src)} sources and {len(tgt)} references; "
                "both numbers must be equal and at least 1"
            )
        self.groups(split)
        self._check_longest(split, "eval_tokens", tested=True)

    @property
    def tokenizers(self) -> Tokenizers:
        """The vocabularies."""
        return self._cache.tokenizers

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """Number of pairs, skipped pairs and truncated pairs of each split."""
        counts = {}
        for split in self._splits:
            too_long = self._too_long(split)
            cut = int(too_long.sum())
            skipped, truncated = (cut, 0) if self._skips(split) else (0, cut)
            counts[split] = Counts(len(too_long), skipped, truncated)
        return counts

    def describe(self, split: str) -> str:
        """Return a phrase with the number of pairs of a split, and how many of these pairs are
        skipped or truncated.
        """
        counts = self.counts[split]
        skipped = f", {counts.skipped:,} skipped as too long" if counts.skipped else ""
        cut = f", {counts.truncated:,} truncated" if counts.truncated else ""
        return f"{counts.pairs:,} pairs{skipped}{cut}"

    @cached_property
    def unigram_nll(self) -> float:
        """Mean nll of the targets that validation scores, under the unigram distribution (with
        add-one smoothing) of the targets of train that the task can score.
        """
        seen = self._train_counts() + 1.0
        met = self._counts(batch.targets.numpy() for batch in self._validation_batches())
        return float(-(met @ np.log(seen / seen.sum())) / met.sum())

    def unigram(self, *metrics: str) -> dict[str, float]:
        """Return the validation scores of a unigram model of the targets by name: unigram_nll, and
        unigram_bpb (bits per byte) if `metrics` has "bpb" and the whole text is scored.
        """
        values = {"unigram_nll": self.unigram_nll}
        length = self.length("validation")
        if "bpb" in metrics and length is not None:
            values["unigram_bpb"] = length.bits_per_byte(self.unigram_nll)
        return values

    def length(self, split: str) -> TextLength | None:
        """Return the size of the target text of a split; None if some pairs are skipped or
        truncated.
        """
        counts = self.counts[split]
        return None if counts.skipped or counts.truncated else self._cache.length(split)

    @property
    def theoretical_scores(self) -> dict[str, float]:
        """Theoretical scores of translation on a synthetic corpus, by name such as chance/nll and
        bound/nll.

        The corpus states these scores per word. The dictionary is empty if tokens are not words or
        texts are truncated, and for other corpora.
        """
        if not (scores := self._corpus.theoretical_scores()):
            return {}
        length = self.length("validation")
        words = sum(len(line.split()) + 1 for line in self.references("validation"))
        return scores if length and length.tokens == words else {}

    def references(self, split: str) -> Sequence[str]:
        """Return the raw target lines of a split."""
        return self._read(split).tgt

    def groups(self, split: str) -> Sequence[str] | None:
        """Return the group, such as a document, of every line of a split; None without groups.

        Raises:
            UserError: there is not exactly one group per line.
        """
        groups = self._corpus.groups(split)
        if groups is not None and len(groups) != len(self.references(split)):
            raise UserError(
                f"{split} has {len(groups)} groups for {len(self.references(split))} lines; "
                "a corpus must name one per line"
            )
        return groups

    def sources(self, split: str) -> Sequence[str]:
        """Return the raw source lines of a split."""
        return self._read(split).src

    def scored_lines(self, split: str) -> int | None:
        """Return how many lines, from the first on, evaluation scores; None: all.

        These lines have at least `batch.scored_tokens` target tokens, if the split has so many.
        """
        if (most := self._batch.scored_tokens) is None:
            return None
        return 1 + int(np.searchsorted(self._sizes(split, tested=True).tgt.cumsum(), most))

    def train_dataloader(self) -> TrainingLoader:
        """Return a data loader of the training batches of this process (rank).

        With `trainer.overfit_batches`, every epoch has the same batches.

        Raises:
            UserError: there are fewer batches than ranks.
        """
        examples, form = self._training()
        trainer: Any = self.trainer
        repeats = trainer is not None and trainer.overfit_batches > 0
        batches = Batches(form, self._rank, evaluates=False, repeats=repeats)
        loader = TrainingLoader(examples, batches)
        if not len(loader):
            raise UserError(
                f"batch.tokens={self._batch.tokens} gives fewer training batches than the "
                f"{self._rank.world_size} devices; make it smaller, or use fewer devices."
            )
        return loader

    def val_dataloader(self) -> EvaluationLoader:
        """Return a data loader of the validation batches of this process (rank)."""
        return self._loader("validation", self._rank, bucket=True, padding=0)

    def evaluation_loader(self, split: str) -> EvaluationLoader:
        """Return a data loader of the batches of a split that this process (rank) tests.

        All ranks together test every sentence of the split exactly once. If `batch.scored_tokens`
        is set, they test only the first sentences, which have at least this number of tokens.

        Only this method uses `batch.test_bucket` and `batch.test_padding`.
        """
        return self._loader(split, self._rank, self._batch.test_bucket, self._batch.test_padding)

    def first_lines(self, split: str, count: int) -> Batch:
        """Return the first `count` lines of a split, or all if there are fewer, as a batch."""
        rows = self._sizes(split, tested=True).rows[:count]
        return self._examples(split)[rows.astype(np.int64)]

    def longest(self, split: str, *, tested: bool = False) -> tuple[int, int]:
        """Return the lengths in tokens (including EOS) of the longest source and the longest target
        of a split.

        With `tested`, pairs that training skips are included.
        """
        sizes = self._sizes(split, tested=tested)
        return int(sizes.src.max()), int(sizes.tgt.max())

    @cached_property
    def _cache(self) -> TokenCache:
        return open_cache(self._cache_dir, self._corpus, self._scheme)

    def _read(self, split: str) -> Pairs:
        if split not in self._text:
            self._text[split] = self._corpus.read(split)
        return self._text[split]

    @property
    def _rank(self) -> Rank:
        if self.trainer is None:
            return Rank(0, 1)
        return Rank(self.trainer.global_rank, self.trainer.world_size)

    def _ids(self, split: str) -> tuple[TokenIds, TokenIds]:
        check_split(split, self._splits)
        return self._cache.split(split)

    def _training(self) -> tuple[Any, Epochs]:
        """Return the training examples, and a function that forms the batches of an epoch."""
        batch, sizes = self._batch, self._sizes("train")
        form = partial(training_batches, sizes, batch.tokens, batch.bucket, self._seed)
        return self._examples("train"), form

    def _loader(self, split: str, rank: Rank, bucket: bool, padding: int) -> EvaluationLoader:
        sizes, count = self._sizes(split, tested=True), self.scored_lines(split)
        sizes = Sizes(sizes.rows[:count], sizes.src[:count], sizes.tgt[:count])
        form = partial(evaluation_batches, sizes, self._batch.eval_tokens, bucket)
        batches = Batches(form, rank, evaluates=True)
        return EvaluationLoader(self._examples(split, padding), batches)

    def _examples(
        self, split: str, padding: int = 0, collate: Collate | ScoredTargets | None = None
    ) -> Examples:
        return Examples(
            *self._ids(split),
            max_length=self._batch.max_length,
            columns=padding,
            collate=collate or self._collate,
            seed=self._seed,
        )

    def _too_long(self, split: str) -> npt.NDArray[np.bool_]:
        limit = self._batch.max_length
        return np.maximum(*(ids.lengths(limit + 1) for ids in self._ids(split))) > limit

    def _skips(self, split: str) -> bool:
        return split == "train" and self._batch.too_long == "skip"

    def _sizes(self, split: str, *, tested: bool = False) -> Sizes:
        """Return the line numbers of the pairs of a split, and their source and target lengths in
        tokens after truncation; with `tested`, also of pairs that training skips.
        """
        skips = self._skips(split) and not tested
        if (split, skips) not in self._used:
            src, tgt = (ids.lengths(self._batch.max_length) for ids in self._ids(split))
            sizes = Sizes(numbered(len(src)), src, tgt)
            if skips:
                keep = ~self._too_long(split)
                sizes = Sizes(sizes.rows[keep], src[keep], tgt[keep])
            self._used[split, skips] = sizes
        return self._used[split, skips]

    def _check_train(self) -> None:
        if not len(self._sizes("train").rows):
            raise UserError(
                f"batch.max_length={self._batch.max_length} with batch.too_long=skip leaves no "
                "training pair; make it longer, or truncate."
            )
        self._check_longest("train", "tokens")

    def _check_longest(self, split: str, key: str, *, tested: bool = False) -> None:
        longest, tokens = max(self.longest(split, tested=tested)), getattr(self._batch, key)
        if tokens < longest:
            raise UserError(
                f"batch.{key} is {tokens}, but the longest sentence of {split} has {longest} "
                "tokens with EOS; a batch must hold at least one sentence."
            )

    def _validation_batches(self) -> Iterable[Batch]:
        """Return the batches that all ranks together validate."""
        limit: Any = self.trainer.limit_val_batches if self.trainer else 1.0
        count = int(limit * len(self.val_dataloader())) if isinstance(limit, float) else limit
        of_all_ranks = self._loader("validation", Rank(0, 1), bucket=True, padding=0)
        return islice(of_all_ranks, count * self._rank.world_size)

    def _train_counts(self) -> npt.NDArray[np.int64]:
        """Return how often the task can score each target id in the unskipped pairs of train."""
        rows, lines = self._sizes("train").rows, self._examples("train", collate=self._scored)
        parts = (rows[at : at + CHUNK] for at in range(0, len(rows), CHUNK))
        return self._counts(lines[part.astype(np.int64)] for part in parts)

    def _counts(self, targets: Iterable[Ids]) -> npt.NDArray[np.int64]:
        """Return the number of occurrences of each target id except PAD."""
        size = self.tokenizers.tgt.size
        counts = np.zeros(size, np.int64)
        for ids in targets:
            counts += np.bincount(ids.ravel(), minlength=size)
        counts[PAD] = 0
        return counts
