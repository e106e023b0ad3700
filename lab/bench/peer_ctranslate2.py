"""Measure decoding with CTranslate2, with the options of baseline.py and its weights (--load).

CTranslate2 runs in float32, with one worker of one thread for each thread. This is its fastest
setting on two cores.
"""

import statistics
import tempfile
import time

import baseline as base
import ctranslate2
from baseline import ARCHS, A
from ctranslate2.specs import common_spec, transformer_spec

base.SYSTEM = f"CTranslate2 {ctranslate2.__version__}"


def array(tensor):
    """Return a tensor as a contiguous NumPy array, which CTranslate2 expects."""
    return tensor.detach().contiguous().numpy()


def linear(spec, weight, bias=None):
    """Copy weight and bias into the specification of a linear layer."""
    spec.weight = array(weight)
    if bias is not None:
        spec.bias = array(bias)


def norm(spec, module):
    """Copy the parameters of a layer normalisation into its specification."""
    spec.gamma, spec.beta = array(module.weight), array(module.bias)


def attention(spec, module, d, *, cross):
    """Copy the parameters of an attention block into its specification.

    The projections to queries, keys and values are one linear layer. In cross-attention, the
    projection to queries is a separate layer.

    Args:
        spec: the specification.
        module: the nn.MultiheadAttention.
        d: width of the model.
        cross: whether it is cross-attention.
    """
    weight, bias = module.in_proj_weight, module.in_proj_bias
    cut = (slice(None, d), slice(d, None)) if cross else (slice(None),)
    for layer, rows in zip(spec.linear, cut, strict=False):  # the last layer is the output
        linear(layer, weight[rows], bias[rows])
    linear(spec.linear[-1], module.out_proj.weight, module.out_proj.bias)


def layer_of(spec, module, d):
    """Copy the parameters of a Post-LN layer of the encoder or decoder into its specification."""
    attention(spec.self_attention, module.self_attn, d, cross=False)
    norm(spec.self_attention.layer_norm, module.norm1)
    last = module.norm2
    if hasattr(module, "multihead_attn"):
        attention(spec.attention, module.multihead_attn, d, cross=True)
        norm(spec.attention.layer_norm, module.norm2)
        last = module.norm3
    linear(spec.ffn.linear_0, module.linear1.weight, module.linear1.bias)
    linear(spec.ffn.linear_1, module.linear2.weight, module.linear2.bias)
    norm(spec.ffn.layer_norm, last)


def specification(net, pieces, arch):
    """Return the specification of the whole model for CTranslate2.

    Args:
        net: the baseline's model.
        pieces: the tokens of the vocabulary.
        arch: sizes of the model, a value of ARCHS.
    """
    spec = transformer_spec.TransformerSpec.from_config(
        (arch["enc"], arch["dec"]),
        arch["heads"],
        pre_norm=False,
        activation=common_spec.Activation.RELU,
    )
    sides = ((spec.encoder, net.body.encoder), (spec.decoder, net.body.decoder))
    for side, stack in sides:
        embeddings = side.embeddings
        table = embeddings[0] if isinstance(embeddings, list) else embeddings
        table.weight = array(net.embed.weight)
        side.scale_embeddings = True
        side.position_encodings.encodings = array(net.pos)
        for layer, module in zip(side.layer, stack.layers, strict=True):
            layer_of(layer, module, arch["d"])
    linear(spec.decoder.projection, net.embed.weight)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    _, bos, eos, unk = pieces[:4]
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = bos, eos, unk
    spec.config.decoder_start_token, spec.config.add_source_eos = bos, False
    return spec


def decode(text):
    """Translate the test set repeatedly until the time is over, and return the results.

    Returns:
        runs: number of measured passes.
        sent_s: sentences per second, from the median pass.
        bleu_13a, hyp_tokens: BLEU and output tokens, only with --bleu.
    """
    net = base.make(text)[0].eval()
    with tempfile.TemporaryDirectory() as folder:
        spec = specification(net, text.itos, ARCHS[A.arch])
        spec.validate()
        spec.save(folder)
        translator = ctranslate2.Translator(
            folder,
            device="cpu",
            compute_type="float32",
            inter_threads=A.threads,
            intra_threads=1,
        )
    pairs, beams = text.split("test"), A.beam if A.mode == "beam" else 1
    sources = [[text.itos[i] for i in src] for src, _ in pairs]
    options = dict(
        beam_size=beams,
        max_batch_size=A.batch,
        length_penalty=1.0,
        max_decoding_length=max(map(len, sources)) + 10,
    )
    translator.translate_batch(sources[: A.batch], **options)
    times, start = [], time.perf_counter()
    while not times or time.perf_counter() - start < A.seconds:
        begin = time.perf_counter()
        translations = translator.translate_batch(sources, **options)
        times.append(time.perf_counter() - begin)
    number = {piece: i for i, piece in enumerate(text.itos)}
    ids = [[number[piece] for piece in result.hypotheses[0]] for result in translations]
    result = dict(runs=len(times), sent_s=len(pairs) / statistics.median(times))
    return {**result, **(base.bleu(text, ids) if A.bleu else {})}


base.decode = decode
base.main()
