"""Of every registered class, arguments for its constructor, none of which is at its default."""

import inspect

import keras
from keras import layers

from zoo.attention import AdditiveAttention, MultiHeadAttention
from zoo.blocks import PostNorm, PreNorm, StarBlock
from zoo.check import uses
from zoo.depth import FixedExit, Halting, make_depth_adaptive_stack, make_stack
from zoo.embeddings import LearnedPositions, TokenEmbedding
from zoo.feedforward import FeedForward
from zoo.models import Pooling, Seq2Seq
from zoo.recurrent import RecurrentEncoder
from zoo.training import FactorAdam

assert FactorAdam, "imported, so that its classes are registered"
PUBLIC = {
    name.removeprefix("zoo>"): cls
    for name, cls in sorted(keras.saving.get_custom_objects().items())
    if name.startswith("zoo>") and cls.__module__.startswith("zoo.")
}


def attention():
    return MultiHeadAttention(4, 2)


def feedforward():
    return FeedForward(4, 3)


def pre_norms(cross=False):
    return [PreNorm(attention(), feedforward(), attention() if cross else None) for _ in range(2)]


def stack(cross=False):
    return make_stack(1, 4, 2, 3, cross=cross)


def star_blocks():
    return [StarBlock(attention(), attention()) for _ in range(2)]


# By the name of an argument, whatever class has it; a function makes a layer anew. Numbers and flags that are not here
# are others than their defaults.
VALUES = {
    "units": 4, "num_heads": 2, "num_layers": 3, "hidden_units": 3, "num_labels": 3, "dropout": 0.3, "seed": 3,
    "vocab_size": 7, "source_vocab_size": 7, "target_vocab_size": 7, "rate": 0.3, "peak": 0.5, "rank": 3,
    "shape": (3, 4), "noise_shape": (2, 1), "row_units": 1, "looks": (2, 1), "chunks": 3, "chunk_length": 3,
    "multiple": 6, "head_units": 5, "output_units": 5, "num_buckets": 8, "window": 5, "max_time": 5, "width": 5,
    "max_positions": 5, "max_distance": 9, "max_span": 9, "ramp": 3, "initial_span": 2, "steps": 3, "num_keys": 3,
    "k": 5, "query_dim": 6, "query_norm": "layer", "norm": "rms", "depth": 2, "threshold": 0.25, "thresholds": 0.25,
    "depth_weights": [1.0, 2.0], "oracle": "correctness", "reduction": "sum", "name": "other", "dtype": "float64",
    "activation": "gelu", "activations": "checkpoint", "joined": "both", "mode": "reconstruct", "dense": "tanh",
    "cell": "lstm", "state_activation": "linear", "connections": "radical", "attention": attention,
    "cross_attention": attention, "relay_attention": attention, "feedforward": feedforward, "first": feedforward,
    "encoder": stack, "decoder": lambda: stack(cross=True), "positions": lambda: LearnedPositions(5),
    "embedding": lambda: TokenEmbedding(7, 4, output_bias=True), "pooling": lambda: Pooling("first"),
    "block": lambda: PostNorm(attention(), feedforward()), "blocks": pre_norms, "exit": lambda: FixedExit(2, 1),
    "halting": Halting, "members": lambda: [Seq2Seq(7, 8, 3, cell) for cell in ("gru", "lstm")],
}  # fmt: skip
# Of a class other values; several rows where not all arguments fit together.
OWN = {
    "AdaptiveSpanAttention": [{"dynamic": False}, {"initial_span": 0}],
    "AttentionCell": [{"cell": lambda: layers.GRUCell(3), "attention": lambda: AdditiveAttention(3)}],
    "AxialPositions": [{}, {"shape": [3, 4], "row_units": 2}],
    "ConfidenceExit": [{}, {"thresholds": [0.25, 0.5]}],
    "DepthAdaptiveLoss": [{"width": 0.3}],
    "DepthAdaptiveStack": [{"blocks": lambda: pre_norms(True)}],
    "DepthAdaptiveTransformer": [{"decoder": lambda: make_depth_adaptive_stack(2, 4, 2, 3)}],
    "Halting": [{"rule": "interpolated"}],
    "LSHAttention": [{}, {"num_buckets": [2, 4]}],
    "LanguageModel": [{"decoder": stack}],
    "NormalizedPositions": [{"units": 3}],
    "Pooling": [{"rule": "first"}],
    "RecurrentDecoder": [{"attention": lambda: AdditiveAttention(3)}],
    "RecurrentReader": [{"encoder": lambda: RecurrentEncoder(3)}],
    "RingLSHAttention": [{"num_buckets": [2, 4]}],
    "SelfAttentiveEncoder": [{"encoder": lambda: RecurrentEncoder(3), "attention": lambda: AdditiveAttention(3)}],
    "Seq2Seq": [{"attention": "dot", "encoder": lambda: RecurrentEncoder(5, "lstm")}],
    "StarStack": [{"blocks": star_blocks}],
    "UniversalStack": [{"places": True}, {"max_offset": 0}],
}


def arguments(cls):
    """`{name: parameter}` of the constructor, without `**kwargs`, which go to Keras."""
    if cls.__init__ is object.__init__:
        return {}
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    hidden = [each.name for each in parameters if each.kind is each.VAR_POSITIONAL]
    assert not hidden, f"{cls.__name__}(*{hidden}) says nothing of its arguments"
    return {each.name: each for each in parameters if each.kind is not each.VAR_KEYWORD}


def sampled(cls, own):
    return {
        name: own[name] if name in own else VALUES.get(name) or next(iter(uses._other_values(name, each.default)))
        for name, each in arguments(cls).items()
    }


SAMPLES = {name: [sampled(cls, own) for own in OWN.get(name, [{}])] for name, cls in PUBLIC.items()}
