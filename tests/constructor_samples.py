"""Of every registered class, arguments for its constructor, none of which is at its default."""

import inspect

from keras import layers

from zoo.attention import AdditiveAttention, MultiHeadAttention
from zoo.blocks import PostNorm, PreNorm, StarBlock
from zoo.check import slots, uses
from zoo.depth import (
    FixedExit,
    Halting,
    make_depth_adaptive_stack,
    make_stack,
)
from zoo.embeddings import LearnedPositions, TokenEmbedding
from zoo.feedforward import FeedForward
from zoo.models import Pooling, Seq2Seq
from zoo.recurrent import RecurrentEncoder
from zoo.settings import occupants


def attention():
    return MultiHeadAttention(4, 2)


def feedforward():
    return FeedForward(4, 3)


def pre_norms(cross=False):
    return [PreNorm(attention(), feedforward(), attention() if cross else None) for _ in range(2)]


def stack(cross=False):
    return make_stack(1, 4, 2, 3, cross=cross)


LABELLER = {
    "vocab_size": 7,
    "num_labels": 3,
    "encoder": stack,
    "positions": lambda: LearnedPositions(5),
    "embedding": lambda: TokenEmbedding(7, 4, output_bias=True),
    "dropout": 0.3,
    "seed": 3,
}
BLOCK = {"attention": attention, "feedforward": feedforward, "cross_attention": attention, "dropout": 0.3, "seed": 3}
BLOCK |= {"norm": "rms", "epsilon": 0.25}
TRANSFORMER = {
    "source_vocab_size": 7,
    "target_vocab_size": 7,
    "encoder": stack,
    "decoder": lambda: make_stack(2, 4, 2, 3, cross=True),
    "shared": True,
    "dropout": 0.3,
    "seed": 3,
}


def members():
    return [Seq2Seq(7, 8, 3, cell) for cell in ("gru", "lstm")]


DECAY = {"peak": 0.5, "warmup": 3, "steps": 7, "floor": 0.25}
SPAN = {"units": 4, "num_heads": 2, "max_span": 9, "ramp": 3, "penalty": 0.5, "window": 5}
# Of each class every argument, none at its default; a function makes a layer anew. Two rows where not all fit together.
# A layer of a slot whose arguments take any other value needs no row: `sampled` has it.
SAMPLES = {
    "AdaptiveSpanAttention": [{**SPAN, "initial_span": 2}, {**SPAN, "dynamic": True}],
    "AttentionCell": [{"cell": lambda: layers.GRUCell(3), "attention": lambda: AdditiveAttention(3)}],
    "AxialPositions": [{"shape": (3, 4), "row_units": 1}, {"shape": [3, 4], "row_units": 2}],
    "ChunkedCrossEntropy": [{"chunks": 3, "smoothing": 0.25, "name": "other"}],
    "ChunkedFeedForward": [{"feedforward": feedforward, "chunks": 3}],
    "Classifier": [{**LABELLER, "pooling": lambda: Pooling("first")}],
    "ConfidenceExit": [{"num_layers": 3, "thresholds": 0.25}, {"num_layers": 3, "thresholds": [0.25, 0.5]}],
    "ConstantRate": [{"peak": 0.5, "warmup": 3}],
    "ConvolutionalPositions": [{"width": 5}],
    "CosineDecay": [DECAY],
    "DepthAdaptiveLoss": [
        {
            "oracle": "correctness",
            "price": 0.2,
            "width": 0.3,
            "alpha": 0.4,
            "smoothing": 0.5,
            "depth_weights": [1.0, 2.0],
            "name": "other",
        }
    ],
    "DepthAdaptiveStack": [
        {"blocks": lambda: pre_norms(True), "exit": lambda: FixedExit(2, 1), "paths": 2, "seed": 3},
    ],
    "DepthAdaptiveTransformer": [
        {**TRANSFORMER, "decoder": lambda: make_depth_adaptive_stack(2, 4, 2, 3), "tied": False},
    ],
    "Dropout": [{"rate": 0.3, "noise_shape": (2, 1), "seed": 3}],
    "Ensemble": [{"members": members}],
    "FactorAdam": [{"learning_rate": 0.5}],
    "FixedExit": [{"num_layers": 3, "depth": 2}],
    "Fraction": [{}],
    "GeometricExit": [{"num_layers": 3, "threshold": 0.25}],
    "Halting": [{"rule": "interpolated", "threshold": 0.75, "ponder": 0.5}],
    "InverseSquareRoot": [{"peak": 0.5, "warmup": 3}],
    "LSHAttention": [
        {
            "units": 4,
            "num_heads": 2,
            "num_buckets": buckets,
            "chunk_length": 3,
            "rounds": 3,
            "use_bias": True,
            "resample": True,
            "seed": 3,
        }
        for buckets in (8, [2, 4])
    ],
    "Encoder": [
        {name: LABELLER[name] for name in LABELLER if name != "num_labels"}
        | {"pooling": lambda: Pooling("first"), "normalize": True}
    ],
    "LanguageModel": [{name: LABELLER[name] for name in ("vocab_size", "positions", "dropout", "seed", "embedding")}],
    "LinearDecay": [DECAY],
    "Macaron": [{**BLOCK, "first": feedforward}],
    "MultiLinearAttention": [{"units": 4, "rank": 3, "max_time": 5, "num_cores": 3, "mode": "reconstruct"}],
    "MultinomialExit": [{"num_layers": 3}],
    "NormalizedPositions": [{"positions": lambda: LearnedPositions(5), "epsilon": 0.25, "units": 3}],
    "PairClassifier": [{**LABELLER, "pooling": lambda: Pooling("first")}],
    "Pooling": [{"rule": "first", "dense": "tanh"}],
    "PostNorm": [BLOCK],
    "PreNorm": [BLOCK],
    "ProductKeyMemory": [
        {"units": 4, "num_keys": 3, "num_heads": 2, "k": 5, "query_dim": 6, "query_norm": "layer", "seed": 3}
    ],
    "RecurrentDecoder": [
        {
            "units": 3,
            "cell": "lstm",
            "attention": lambda: AdditiveAttention(3),
            "num_layers": 2,
            "state_activation": "linear",
        }
    ],
    "RecurrentEncoder": [
        {"units": 3, "cell": "lstm", "num_layers": 2, "bidirectional": False, "dropout": 0.3, "seed": 3}
    ],
    "RecurrentReader": [{"encoder": lambda: RecurrentEncoder(3)}],
    "LocalAttention": [
        {
            "units": 4,
            "num_heads": 2,
            "chunk_length": 3,
            "looks": (2, 1),
            "multiple": 6,
            "head_units": 5,
            "dropout": 0.3,
            "seed": 3,
        }
    ],
    "RingLSHAttention": [
        {
            "units": 4,
            "num_heads": 2,
            "num_buckets": [2, 4],
            "chunk_length": 3,
            "rounds": 2,
            "head_units": 5,
            "looks": (2, 1),
            "multiple": 6,
        }
    ],
    "RelativeAttention": [
        {
            "units": 4,
            "num_heads": 2,
            "num_buckets": 8,
            "max_distance": 9,
            "dropout": 0.3,
            "use_bias": True,
            "seed": 3,
            "head_units": 5,
        }
    ],
    "ReversibleStack": [{"blocks": pre_norms, "activations": "checkpoint", "joined": "both"}],
    "RowAdam": [{"learning_rate": 0.5, "row_learning_rate": 0.25}],
    "SSRU": [{"units": 4}],
    "SelfAttentiveEncoder": [
        {"encoder": lambda: RecurrentEncoder(3), "attention": lambda: AdditiveAttention(3)},
    ],
    "Seq2Seq": [
        {
            "source_vocab_size": 7,
            "target_vocab_size": 8,
            "units": 3,
            "cell": "lstm",
            "attention": "dot",
            "num_layers": 2,
            "dropout": 0.3,
            "seed": 3,
            "encoder": lambda: RecurrentEncoder(5, "lstm"),
            "state_activation": "linear",
        }
    ],
    "SequenceExit": [{"num_layers": 3}],
    "SinusoidalPositions": [{}],
    "SmoothedCrossEntropy": [{"smoothing": 0.25, "name": "other", "reduction": "sum", "dtype": "float64"}],
    "StarBlock": [
        {
            "attention": attention,
            "relay_attention": attention,
            "connections": "radical",
            "dropout": 0.3,
            "seed": 3,
        }
    ],
    "StarStack": [{"blocks": lambda: [StarBlock(attention(), attention()) for _ in range(2)]}],
    "Tagger": [LABELLER],
    "Transformer": [{**TRANSFORMER, "positions": lambda: LearnedPositions(5)}],
    "UniversalStack": [
        {
            "block": lambda: PostNorm(attention(), feedforward()),
            "steps": 3,
            "halting": Halting,
            "max_offset": 2,
            "seed": 3,
        },
        {"block": lambda: PostNorm(attention(), feedforward()), "steps": 3, "places": False},
    ],
}
SAMPLES["LanguageModel"][0]["decoder"] = stack


def sampled(cls):
    """Of the class of a table in `zoo.settings`: what a recipe gives, and other values than the defaults."""
    given = {**slots.FILLED, **slots.PARTS, "activation": "gelu"}
    return {
        name: given[name] if name in given else next(iter(uses._other_values(name, each.default)), 5)
        for name, each in occupants.arguments(cls).items()
    }


for table in (each for slot in occupants.SLOTS for each in occupants.own(slot) if each.source):
    if inspect.isclass(table.maker()):
        SAMPLES.setdefault(table.maker().__name__, [sampled(table.maker())])
