"""Cache the token ids of a corpus on disk, under a hash of everything that they depend on.

A cache is a folder with the vocabularies, and with the files of `ablate.data.tokenizer` for each
split and each side (source or target). A manifest holds the size of every file, and the length of
every split.

One process builds the folder, and others that need it wait for its lock. The manifest is written
last. A folder is built again if it lacks the manifest, or if a file does not have its size.

Whoever learns a vocabulary warns about test text that occurs in the training text, because a model
can recite this text.
"""

import functools
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import tokenizers

from ablate.data import TRAINED, Corpus, Documents, Pairs, Segment, SegmentTexts, TextLength
from ablate.data.scheme import Scheme
from ablate.data.tokenizer import SIDES, AnyScheme, TokenIds, Tokenizers, type_of_ids, write_ids
from ablate.errors import UserError
from ablate.record.files import acquire, write_json
from ablate.record.identity import source_hashes

Read = Callable[[str], Pairs]
SHORT = 100  # characters; shorter documents, such as "Enter the king.", repeat by chance


def overlap_warnings(corpus: Corpus, read: Read) -> Iterator[str]:
    """Yield a warning for each split whose documents or sentence pairs also occur in train; `read`
    returns the sentence pairs of a split.

    Memory holds only a hash for each text outside train.
    """
    held_out = {s: [*_hashes(corpus, s, read)] for s in corpus.splits if s != "train"}
    wanted = set().union(*held_out.values())
    trained = {text for text in _hashes(corpus, "train", read) if text in wanted}
    unit = "documents" if isinstance(corpus, Documents) else "pairs"
    for split, texts in held_out.items():
        if count := sum(text in trained for text in texts):
            yield (
                f"{split}: {count:,} of {len(texts):,} {unit} also occur in train, "
                "so that a model can recite them"
            )


def _hashes(corpus: Corpus, split: str, read: Read) -> Iterator[int]:
    if isinstance(corpus, Documents):
        yield from (hash(text) for text in corpus.document_texts(split) if len(text) >= SHORT)
    else:
        for src, tgt in zip(*read(split), strict=True):
            yield hash((src.strip(), tgt.strip()))


FORMAT = 5
MANIFEST = "manifest.json"


class TokenCache:
    """The vocabularies and token ids of a corpus, in a folder on disk."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.tokenizers = Tokenizers.load(folder)
        self._lengths = _manifest(folder)["lengths"]

    def length(self, split: str) -> TextLength:
        """Return the size of the target text of a split."""
        return TextLength(**self._lengths[split])

    def split(self, name: str) -> tuple[TokenIds, TokenIds]:
        """Return the ids of the source and the target side of a split."""
        vocabularies = (self.tokenizers.src, self.tokenizers.tgt)
        src, tgt = (
            TokenIds(self._folder / f"{name}.{side}", type_of_ids(vocabulary))
            for side, vocabulary in zip(SIDES, vocabularies, strict=True)
        )
        return src, tgt


def open_cache(root: Path, corpus: Corpus, scheme: AnyScheme) -> TokenCache:
    """Return the vocabularies and token ids of a corpus; build the cache first if it is missing or
    incomplete.

    Raises:
        UserError: the corpus or the vocabulary size is not usable, or `root` is not writable.
    """
    folder = root / "tokens" / key(corpus, scheme)
    try:
        if not is_complete(folder):
            with acquire(root / "locks" / f"{folder.name}.lock", "building the token cache"):
                if not is_complete(folder):  # no other process has built it in the meantime
                    shutil.rmtree(folder, ignore_errors=True)
                    folder.mkdir(parents=True)
                    _write(folder, corpus, scheme)
    except OSError as error:  # NumPy's OSError has no errno for a full disk
        reason = error.strerror or f"{error}; the disk may be full"
        raise UserError(f"paths.cache={root} cannot be written: {reason}.") from error
    return TokenCache(folder)


def splits_of(corpus: Corpus, scheme: AnyScheme) -> tuple[str, ...]:
    """Return the names of the splits of a corpus that have to be encoded."""
    return corpus.splits if isinstance(scheme, Scheme) else scheme.splits


def key(corpus: Corpus, scheme: AnyScheme) -> str:
    """Return a hash of everything that can change a token id; the hash names the folder of the
    cache.
    """
    tests = filter(None, (corpus.split_fingerprint(s) for s in corpus.splits if s not in TRAINED))
    text = [corpus.fingerprint(), *tests]
    parts = [str(FORMAT), tokenizers.__version__, *text]
    parts.append(scheme.signature(documents=isinstance(corpus, Documents)))
    parts += _source_of_user(corpus, scheme)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _source_of_user(*components: object) -> list[str]:
    """Return hashes of the source of all classes of the user that make text or token ids."""
    values = [
        value for part in components for value in (part, *getattr(part, "__dict__", {}).values())
    ]
    modules = {str(getattr(value, "__module__", "")) for value in values}
    hashes = source_hashes(modules).items()
    return [f"{name} {source}" for name, source in hashes if not name.startswith("ablate.")]


def is_complete(folder: Path) -> bool:
    """Return whether the folder of a cache has all files of its manifest in their sizes."""
    with suppress(FileNotFoundError):
        sizes = _manifest(folder)["sizes"].items()
        return all((folder / name).stat().st_size == size for name, size in sizes)
    return False


def _manifest(folder: Path) -> Any:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def _write(folder: Path, corpus: Corpus, scheme: AnyScheme) -> None:
    read = functools.cache(corpus.read)
    # existing vocabularies need no training text
    vocabularies = _learn(corpus, scheme, read) if isinstance(scheme, Scheme) else scheme.tokenizers
    vocabularies.save(folder)
    lengths = {
        split: _write_split(folder, corpus, split, vocabularies, read)._asdict()
        for split in splits_of(corpus, scheme)
    }
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    write_json(folder / MANIFEST, {"sizes": sizes, "lengths": lengths})


def _learn(corpus: Corpus, scheme: Scheme, read: Read) -> Tokenizers:
    """Return the vocabularies of the training text; print a warning if a test repeats this text."""
    for warning in overlap_warnings(corpus, read):
        print(f"warning, {warning}", flush=True)
    if not isinstance(corpus, Documents):
        return Tokenizers.train(scheme, read("train"))
    if not scheme.joint:
        raise UserError(
            "tokenizer.joint is false, but documents have no sources, so there is only one "
            "vocabulary; choose tokenizer.joint=true."
        )
    return Tokenizers.train(scheme, ([], SegmentTexts(corpus, "train")), documents=True)


def _write_split(
    folder: Path, corpus: Corpus, split: str, both: Tokenizers, read: Read
) -> TextLength:
    """Write both sides of a split with the vocabularies `both`, and return the size of the target
    text.
    """
    if isinstance(corpus, Documents):
        length = write_ids(folder / f"{split}.tgt", both.tgt, corpus.segments(split))
        sources = repeat(Segment("", ""), length.texts)
        write_ids(folder / f"{split}.src", both.src, sources, length.texts)
        return length
    for side, vocabulary, lines in zip(SIDES, (both.src, both.tgt), read(split), strict=True):
        segments = (Segment(line, "\n") for line in lines)
        length = write_ids(folder / f"{split}.{side}", vocabulary, segments, len(lines))
    return length
