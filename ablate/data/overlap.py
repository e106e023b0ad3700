"""Warn about test text that occurs in the training text, because a model can recite this text."""

from collections.abc import Iterator

from ablate.data.documents import Documents, document_texts
from ablate.data.pairs import Corpus

SHORT = 100  # characters; shorter documents, such as "Enter the king.", repeat by chance


def repeated(corpus: Corpus) -> Iterator[str]:
    """Yield a warning for each split whose documents or sentence pairs also occur in train.

    Memory holds only a hash for each text outside train.
    """
    held_out = {s: [*_hashes(corpus, s)] for s in corpus.splits if s != "train"}
    wanted = set().union(*held_out.values())
    trained = {text for text in _hashes(corpus, "train") if text in wanted}
    unit = "documents" if corpus.documents else "pairs"
    for split, texts in held_out.items():
        if count := sum(text in trained for text in texts):
            yield (
                f"{split}: {count:,} of {len(texts):,} {unit} also occur in train, "
                "so that a model can recite them"
            )


def _hashes(corpus: Corpus, split: str) -> Iterator[int]:
    if isinstance(corpus, Documents):
        yield from (hash(text) for text in document_texts(corpus, split) if len(text) >= SHORT)
    else:
        for src, tgt in zip(*corpus.read(split), strict=True):
            yield hash((src.strip(), tgt.strip()))
