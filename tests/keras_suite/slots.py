"""The layers of the four slots as rows of the table: attention, feed-forward, embeddings, and dropout."""

import numpy as np

from tests.keras_suite.case import Suite
from tests.keras_suite.sizes import additive, dense, dot_product, feedforward, multi_head, norm
from zoo.attention import (
    SSRU,
    AdaptiveSpanAttention,
    AdditiveAttention,
    DotProductAttention,
    LocalAttention,
    LSHAttention,
    MultiHeadAttention,
    MultiLinearAttention,
    RelativeAttention,
    RingLSHAttention,
)
from zoo.core.dropout import Dropout
from zoo.embeddings import (
    AxialPositions,
    ConcatenatedPositions,
    ConvolutionalPositions,
    LearnedPositions,
    NoPositions,
    NormalizedPositions,
    SentenceEmbedding,
    SinusoidalPositions,
    SpelledEmbedding,
    TokenEmbedding,
)
from zoo.feedforward import ChunkedFeedForward, FeedForward, GatedFeedForward, ProductKeyMemory
from zoo.models import Pooling

B, T, S = 2, 5, 7  # batch, time, time of a value
D, E = 6, 3  # units, units of a value
H, F, V = 2, 8, 11  # heads, hidden units, vocabulary
X = (B, T, D)
CROSS = {"query_shape": X, "value_shape": (B, S, E)}
KEPT = np.array([[True] * T, [True] * (T - 2) + [False] * 2])
MASKS = {"supports_masking": True}
CAUSAL = {"call_kwargs": {"causal": True}}
NAMED = "The inputs have names, and Keras' training check hands over one argument."
ARGUED = "The call has more arguments, and Keras' training check leaves them out."


def attention(name, make, trainable, weights, shapes=X, output=X, **more):
    settings = {"supports_masking": True, **more.pop("settings", {})}
    return Suite(name, make, shapes, output, trainable, weights, settings=settings, **more)


ATTENTIONS = [
    attention("multi-head", lambda **s: MultiHeadAttention(D, H, **s), multi_head(D), 8),
    attention(
        "multi-head-cross",
        lambda **s: MultiHeadAttention(D, H, use_bias=False, **s),
        multi_head(D, value=E, bias=False),
        4,
        CROSS,
        own_training=NAMED,
    ),
    attention(
        "multi-head-masked-dropout",
        lambda **s: MultiHeadAttention(D, H, dropout=0.1, seed=1, **s),
        multi_head(D),
        8,
        settings={"expected_num_seed_generators": 1, "call_kwargs": {"query_mask": KEPT, "causal": True}},
        own_training=ARGUED,
    ),
    # https://arxiv.org/abs/1910.10683: a bias for each bucket and head, and heads that are wider than D / H.
    attention(
        "relative",
        lambda **s: RelativeAttention(D, H, num_buckets=4, max_distance=3, head_units=4, **s),
        4 * D * H * 4 + 4 * H,
        5,
    ),
    # https://aclanthology.org/D19-5632: two matrices, and a bias of the gate.
    attention("ssru", lambda **s: SSRU(D, **s), D * D + dense(D, D), 3, settings=CAUSAL, own_training=ARGUED),
    attention("additive", lambda **s: AdditiveAttention(4, **s), additive(4, D, D), 4),
    attention(
        "additive-cross",
        lambda **s: AdditiveAttention(4, **s),
        additive(4, D, E),
        4,
        CROSS,
        (B, T, E),
        own_training=NAMED,
    ),
    attention("dot", lambda **s: DotProductAttention(4, **s), dot_product(4, D, D), 2),
    attention(
        "dot-cross",
        lambda **s: DotProductAttention(4, **s),
        dot_product(4, D, E),
        2,
        CROSS,
        (B, T, E),
        own_training=NAMED,
    ),
    # W_Q, W_K, W_V, W_O without biases; S vectors of distances, which the heads share; a span for each head.
    attention(
        "adaptive-span",
        lambda **s: AdaptiveSpanAttention(D, H, max_span=4, ramp=3, **s),
        multi_head(D, bias=False) + 4 * D // H + H,
        6,
        settings={"expected_num_losses": 0, **CAUSAL},
        own_training=ARGUED,
    ),
    attention(
        "adaptive-span-dynamic",
        lambda **s: AdaptiveSpanAttention(D, H, max_span=4, ramp=3, dynamic=True, **s),
        multi_head(D, bias=False) + 4 * D // H + dense(D, H),
        7,
        settings={"expected_num_losses": 1, "call_kwargs": {"causal": True, "training": True}},
        untrained="The call says training=True itself, so that the penalty of the spans is counted among the losses.",
    ),
    # Queries are keys, so three projections; rotations (heads, head_dim, rounds, buckets / 2) are not trained.
    attention(
        "lsh",
        lambda **s: LSHAttention(D, H, num_buckets=4, chunk_length=2, rounds=3, seed=1, **s),
        3 * D * D,
        3,
        fixed=D * 3 * 4 // 2,
        fixed_weights=1,
    ),
    attention(
        "lsh-resampled",
        lambda **s: LSHAttention(D, H, num_buckets=[2, 4], chunk_length=2, use_bias=True, resample=True, seed=1, **s),
        3 * dense(D, D),
        6,
        fixed=D * 2 * (2 + 4) // 2,
        fixed_weights=2,
        settings={"expected_num_seed_generators": 1},
    ),
    # Heads of 5 channels, of the local and of the hashing layers of transformers' Reformer.
    attention("local", lambda **s: LocalAttention(D, H, chunk_length=2, head_units=5, **s), 4 * D * H * 5, 4),
    attention(
        "ring-lsh",
        lambda **s: RingLSHAttention(D, H, num_buckets=4, chunk_length=2, rounds=3, head_units=5, **s),
        3 * D * H * 5,
        3,
        fixed=H * 5 * 3 * 4 // 2,
        fixed_weights=1,
    ),
    # https://arxiv.org/abs/1906.09777: three factors of rank R, h diagonal cores, and W_O over all pairs of places.
    attention(
        "multi-linear",
        lambda **s: MultiLinearAttention(D, 4, max_time=S, num_cores=3, **s),
        3 * D * 4 + 3 * 4 + S * S * D,
        5,
    ),
    attention(
        "multi-linear-reconstruct",
        lambda **s: MultiLinearAttention(D, 4, max_time=S, mode="reconstruct", **s),
        3 * D * 4 + 2 * 4 + S * D,
        5,
        settings=CAUSAL,
        own_training=ARGUED,
    ),
]


def position_wise(name, make, trainable, weights, **more):
    settings = {**MASKS, **more.pop("settings", {})}
    return Suite(name, make, X, X, trainable, weights, settings=settings, **more)


def chunked(**settings):
    return ChunkedFeedForward(FeedForward(D, F, **settings), 2, **settings)


# https://arxiv.org/abs/1907.05242: W_h and b_h of each head, two sets of half-keys a head, num_keys^2 values.
MEMORY = dense(D, H * 4) + 2 * H * 3 * 2 + 3**2 * D
FEEDFORWARDS = [
    position_wise("feedforward", lambda **s: FeedForward(D, F, **s), feedforward(D, F), 4),
    position_wise(
        "feedforward-gelu-dropout",
        lambda **s: FeedForward(D, F, "gelu", 0.1, 1, **s),
        feedforward(D, F),
        4,
        settings={"expected_num_seed_generators": 1},
    ),
    position_wise("gated", lambda **s: GatedFeedForward(D, F, "silu", **s), 3 * D * F, 3),
    position_wise("chunked", chunked, feedforward(D, F), 4),
    position_wise(
        "product-key",
        lambda **s: ProductKeyMemory(D, num_keys=3, num_heads=H, k=2, query_dim=4, seed=1, **s),
        MEMORY + 2 * H * 4,  # the batch norm's gain and offset; its mean and variance are not trained
        6,
        fixed=2 * H * 4,
        fixed_weights=2,
    ),
    position_wise(
        "product-key-layer-norm",
        lambda **s: ProductKeyMemory(D, 3, H, 2, 4, query_norm="layer", **s),
        MEMORY + 2 * 4,
        6,
    ),
]


def places(name, make, trainable, weights, **settings):
    return Suite(name, make, X, X, trainable, weights, settings={**MASKS, **settings})


def normalized(**settings):
    return NormalizedPositions(LearnedPositions(S, **settings), 1e-6, units=D, **settings)


def ids(name, make, trainable, weights, **more):
    return Suite(name, make, (B, T), (B, T, D), trainable, weights, dtypes="int32", **more)


EMBEDDINGS = [
    places("sinusoidal", lambda **s: SinusoidalPositions(**s), 0, 0),
    places("no-positions", lambda **s: NoPositions(**s), 0, 0),
    places("learned", lambda **s: LearnedPositions(S, **s), S * D, 1),
    places("normalized", normalized, S * D + norm(D) + dense(D, D), 5),
    places("axial", lambda **s: AxialPositions((3, 4), **s), (3 + 4) * D // 2, 2),
    places("convolutional", lambda **s: ConvolutionalPositions(3, **s), dense(3 * D, D), 2),
    places("concatenated", lambda **s: ConcatenatedPositions(S, 3, **s), S * 3 + dense(D + 3, D), 3),
    ids("tokens", lambda **s: TokenEmbedding(V, D, **s), V * D, 1),
    ids(
        "spelled",
        lambda **s: SpelledEmbedding(V, D, features=2, buckets=4, dropout=0.1, seed=1, **s),
        V * D + 4 * D,
        2,
        fixed=V * 2 + V,  # the features of each piece, and whether it begins a word
        fixed_weights=2,
        settings={"expected_num_seed_generators": 1},
    ),
    Suite(
        "sentences",
        lambda **s: SentenceEmbedding(V, D, longest=3, **s),
        (B, T),
        ((B, T, D), (B, T)),
        trainable=V * D + 3 * D,
        weights=2,
        fixed=V,  # whether an id ends a sentence
        fixed_weights=1,
        dtypes="int32",
        settings={"call_kwargs": {"mask": KEPT}},
        own_training=ARGUED,
    ),
]
POOLINGS = [
    Suite("pooling", lambda **s: Pooling("first", "tanh", **s), X, (B, D), dense(D, D), 2, settings=MASKS),
]
DROPOUTS = [
    Suite("dropout", lambda **s: Dropout(0.3, seed=1, **s), X, X, settings={**MASKS, "expected_num_seed_generators": 1})
]
CASES = [*ATTENTIONS, *FEEDFORWARDS, *EMBEDDINGS, *POOLINGS, *DROPOUTS]
