"""Check embedding and output layer, and which words the vocabulary can represent.

Equation: embed(v) = scale e_v W, e_v the one-hot vector of token v; p = softmax(W' h), h a state of
    the decoder; the gradient of row v of W is a sum over the positions of v in the batch.
Source: arXiv:1706.03762, section 3.4; shared matrices: arXiv:1608.05859.
What differs: random weights in float64, without padding and dropout. Unknown words are known words
    spelled backwards.
What to expect: the look-up equals the one-hot product up to rounding. With a separate matrix only
    rows in the batch have gradients, with a shared one all rows; Adam also moves rows by its
    momentum. Only a vocabulary of whole words cannot represent unknown words.
"""

from itertools import islice
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.data import EOS, Corpus, Pairs
from ablate.data.scheme import Scheme
from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.model import Seq2Seq
from ablate.model.embedding import Embedding, Table
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Measured, RandomModels, each_replaced, moved, raises

WORDS = 500  # number of known words, and of made-up words
RATE = 1e-3


class Embeddings(RandomModels):
    """A probe of the embedding of the model, and of the vocabulary of a corpus.

    Args:
        draws: number of models with random weights, each with random sentences.
        length: number of tokens in a random sentence.
        corpus: corpus that provides the words.
        scheme: tokenizer that learns a vocabulary from the corpus.
        seed: seed of weights and sentences.

    Raises:
        UserError: `draws` is below 1, `length` is below 3, or the corpus has no words of letters.
    """

    dtype = torch.float32
    largest = (
        *("lookup", "token", "sum", "without_gradient", "gradient", "other_rows", "adam_rows"),
        "frozen",
    )
    smallest = ("lookup_control", "sum_control", "behind", "token_control")
    single = (
        *("width", "width_control", "builds_joint", "builds_apart"),
        *("written_known", "written_new", "unknown"),
    )

    length: Annotated[int, Range(3)]
    corpus: Corpus
    scheme: Scheme

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest or the smallest value of each measurement over all draws of weights
        and sentences, and the fractions of words that the vocabulary of the corpus can represent.

        The names that are not listed here are described in the functions `learning`, `sharing` and
        `writing` of this module.

        Returns:
            lookup: largest difference between the look-up of an embedding and the product of the
                one-hot vector with the embedding matrix.
            lookup_control: smallest such difference with the one-hot vector of another token.
            token: largest difference between two embeddings of the same token.
            token_control: smallest difference between the embeddings of two tokens.
            sum: largest deviation from 1 of the sum of the output probabilities.
            sum_control: smallest deviation from 1 of the sum of the logits.
            behind: smallest deviation from 1 of the sum of the outputs if the linear output layer
                comes after the softmax, that is, if it is applied to the softmax of the states.
            width: number of logits minus the size of the vocabulary.
            width_control: number of logits of an embedding for a vocabulary with one more token,
                minus the size of the vocabulary.
        """
        extremes = super().__call__(model)
        train, test = (self.corpus.read(split) for split in ("train", "test"))
        tokenizers = Tokenizers.train(self.scheme, train)
        width = model.embedding.output_weight().size(0) - tokenizers.tgt.size
        larger = built(model.embedding, tokenizers.src.size, tokenizers.tgt.size + 1, joint=True)
        return {
            **extremes,
            "width": float(width),
            "width_control": float(larger.output_weight().size(0) - tokenizers.tgt.size),
            **sharing(model.embedding),
            **writing(tokenizers, words(train), words(test)),
        }

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of embeddings and output layer (see `__call__` and `learning`) of
        one model with random weights.
        """
        src, tgt = (random_sentences(model, [self.length] * 2, generator) for _ in range(2))
        yield from lookup(model.embedding, src, tgt)
        yield from output(model, src, tgt)
        yield from learning(model, src, tgt)


def lookup(embedding: Embedding, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> Measured:
    """Compare looked-up embeddings with products of one-hot vectors and the embedding matrix, and
    with each other.

    Yields:
        lookup, lookup_control, token, token_control: see `Embeddings.__call__`.
    """
    tables = [part for part in embedding.modules() if isinstance(part, Table)]
    for embed, table, ids in (
        (embedding.embed_src, tables[0], src),
        (embedding.embed_tgt, tables[-1], tgt),
    ):
        other_ids = torch.where(ids == EOS + 1, EOS + 2, EOS + 1)
        for name, tokens in (("lookup", ids), ("lookup_control", other_ids)):
            product = F.one_hot(tokens, len(table.weight)).double() @ table.weight * table.scale
            yield name, (embed(ids) - product).abs().amax(-1)
    twice = embedding.embed_tgt(torch.cat([tgt[:, :1], tgt[:, :1]], 1))
    yield "token", moved(twice[:, 0], twice[:, 1])
    other = embedding.embed_tgt(each_replaced(tgt[:1, :1])[:, 0][None])
    yield "token_control", moved(other[:, 0], other[:, 1])


def output(model: Transformer, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> Measured:
    """Yield how far sums over the vocabulary are from 1, at each position.

    Yields:
        sum: deviation of the sum of the output probabilities.
        sum_control: deviation of the sum of the logits.
        behind: deviation of the sum of the outputs if the output layer is applied to a softmax of
            the states.
    """
    states = model(Seq2Seq(src, tgt))
    logits = model.head(states)
    yield "sum", (logits.softmax(-1).sum(-1) - 1).abs()
    yield "sum_control", (logits.sum(-1) - 1).abs()
    yield "behind", (model.head(states.softmax(-1)).sum(-1) - 1).abs()


def learning(model: Transformer, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> Measured:
    """Yield which rows of the embeddings change in training.

    Yields:
        without_gradient: number of embedding tables in which the row of at least one token of the
            first batch has no gradient.
        gradient: absolute entries of the gradients of the tables.
        other_rows: fraction of rows with a gradient, among the rows of the target embedding whose
            tokens are not in the batch.
        adam_rows: fraction of rows that Adam changes after the second batch, among the rows of the
            target embedding that have a gradient in the first batch and none in the second.
        frozen: number of rows of the target embedding that change although they are not trained.
    """
    tables = [part.weight for part in model.embedding.modules() if isinstance(part, Table)]
    named = [set(ids.flatten().tolist()) for ids in (src, tgt[:, :-1])]
    named = named if len(tables) == 2 else [named[0] | named[1]]
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    backward(model, src, tgt)
    has_gradient = [rows(table) > 0 for table in tables]
    missing = (not row[sorted(ids)].all() for row, ids in zip(has_gradient, named, strict=True))
    yield "without_gradient", sum(missing)
    for table in tables:
        yield "gradient", rows(table)
    remaining = has_gradient[-1].clone()
    remaining[sorted(named[-1])] = False
    yield "other_rows", remaining.sum() / (len(remaining) - len(named[-1]))
    adam.step()
    before = tables[-1].detach().clone()
    backward(model, *(ids.roll(1, 0)[:1, :2] for ids in (src, tgt)))
    idle = has_gradient[-1] & ~(rows(tables[-1]) > 0)
    adam.step()
    changed = (tables[-1].detach() != before).any(1)
    yield "adam_rows", changed[idle].double().mean() if idle.any() else 0.0
    yield "frozen", frozen(model, adam, src, tgt)


@torch.enable_grad()
def backward(model: Transformer, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> None:
    """Store in the parameters the gradients of the cross-entropy of a batch."""
    model.zero_grad()
    logits = model.head(model(Seq2Seq(src, tgt[:, :-1])))
    torch.autograd.backward(F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten()))


def rows(table: Tensor) -> Float[Tensor, " V"]:
    """Return the largest absolute entry of each row of the table's gradient; zeros if the table has
    no gradient.
    """
    return table.new_zeros(len(table)) if table.grad is None else table.grad.abs().amax(1)


def frozen(
    model: Transformer, adam: torch.optim.Adam, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]
) -> float:
    """Return how many rows of the target embedding change in a training step in which this
    embedding is not trained.
    """
    table = [part.weight for part in model.embedding.modules() if isinstance(part, Table)][-1]
    table.requires_grad_(False)
    before = table.clone()
    backward(model, src, tgt)
    adam.step()
    table.requires_grad_(True)
    return float((table != before).any(1).sum())


def built(embedding: Embedding, src_vocab: int, tgt_vocab: int, *, joint: bool) -> Embedding:
    """Return a new embedding, of the same class as `embedding`, for vocabularies of the given
    sizes.

    Raises:
        UserError: this class does not accept these vocabularies.
    """
    kind = type(embedding)
    sizes = {"src_vocab": src_vocab, "tgt_vocab": tgt_vocab, "joint_vocab": joint}
    return kind(d_model=4, scaled=True, **sizes)


def sharing(embedding: Embedding) -> dict[str, float]:
    """Return for which vocabularies an embedding of the same class as `embedding` can be built.

    Returns:
        builds_joint: 1 if it can be built for a joint vocabulary, else 0.
        builds_apart: number of pairs of separate vocabularies for which it can be built. Two pairs
            are tried: one with different sizes, and one with equal sizes.
    """

    def builds(src_vocab: int, *, joint: bool) -> bool:
        return not raises(lambda: built(embedding, src_vocab, 12, joint=joint), UserError)

    return {
        "builds_joint": float(builds(12, joint=True)),
        "builds_apart": float(sum(builds(size, joint=False) for size in (10, 12))),
    }


def writing(
    tokenizers: Tokenizers, known_words: dict[str, None], tested: dict[str, None]
) -> dict[str, float]:
    """Return the fractions of known and unknown words that decoding restores from their ids.

    Returns:
        written_known: fraction of restored words among words of the training text.
        written_new: fraction of restored words among words that do not occur in the training text:
            the words of the training text, spelled backwards.
        unknown: fraction of the words of the test text that do not occur in the training text.

    Raises:
        UserError: a text has no words of letters, or all words remain the same backwards.
    """
    backwards = (word[::-1] for word in known_words)
    new = list(islice((word for word in backwards if word not in known_words), WORDS))
    if not (new and tested):
        raise UserError(
            "probe=embeddings spells the words of a text backwards, but the targets of this corpus "
            "have no words of several letters: choose other data, such as data=toy"
        )
    return {
        "written_known": written(tokenizers, list(islice(known_words, WORDS))),
        "written_new": written(tokenizers, new),
        "unknown": sum(word not in known_words for word in tested) / len(tested),
    }


def words(pairs: Pairs) -> dict[str, None]:
    """Return the different words of the target side that consist of letters only, as the keys of a
    dictionary, in the order of the text.
    """
    return dict.fromkeys(word for line in pairs.tgt for word in line.split() if word.isalpha())


def written(tokenizers: Tokenizers, lines: list[str]) -> float:
    """Return the fraction of lines that are unchanged after encoding and decoding."""
    decoded = tokenizers.tgt.decode_batch(tokenizers.tgt.encode_batch(lines))
    return sum(map(str.__eq__, decoded, lines)) / len(lines)
