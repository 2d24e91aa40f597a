"""The models as rows of the table, each behind a layer that takes plain arrays (`tests.keras_suite.wrapped`)."""

from tests.keras_suite.case import Suite, by_policy
from tests.keras_suite.sizes import additive, block, dense, norm, recurrent
from tests.keras_suite.slots import NAMED, B, D, F, H, S, T, V
from tests.keras_suite.wrapped import Comparing, Labelling, Translating
from zoo.depth import FixedExit, make_depth_adaptive_stack, make_stack
from zoo.models import (
    Classifier,
    DepthAdaptiveTransformer,
    Encoder,
    Ensemble,
    LanguageModel,
    PairClassifier,
    Seq2Seq,
    Tagger,
    Transformer,
)

W = 13  # words of the target
L = 3  # labels
TEXT = {"token_ids_shape": (B, T), "lengths_shape": (B,)}
TEXTS = {
    "first_ids_shape": (B, T),
    "first_lengths_shape": (B,),
    "second_ids_shape": (B, S),
    "second_lengths_shape": (B,),
}
PAIR = {"source_ids_shape": (B, S), "source_lengths_shape": (B,), "target_ids_shape": (B, T)}


def model(name, around, make, shapes, output, trainable, weights):
    return Suite(
        name,
        by_policy(lambda: around(make())),
        shapes,
        output,
        trainable,
        weights,
        settings={"expected_output_dtype": "float32"},
        dtypes=dict.fromkeys(shapes, "int32"),
        own_training=NAMED,
    )


def stack(cross=False):
    return make_stack(1, D, H, F, cross=cross, dropout=0.0)


def depth_adaptive():
    return DepthAdaptiveTransformer(V, W, stack(), make_depth_adaptive_stack(2, D, H, F, FixedExit(2, 1)), tied=False)


ENCODER, DECODER = block(D, F) + norm(D), block(D, F, cross=True) + norm(D)
READ = 2 * recurrent("gru", D, D) + dense(2 * D, D)  # in both directions, and from their last states to the first
WRITE = recurrent("gru", 3 * D, D) + additive(D, D, 2 * D) + dense(4 * D, D) + W
SEQ2SEQ = V * D + W * D + READ + WRITE, 2 + 6 + 3 + 4 + 2 + 2 + 1  # parameters, weights
CASES = [
    model("language-model", Labelling, lambda: LanguageModel(V, stack()), TEXT, (B, T, V), V * D + ENCODER, 19),
    model(
        "classifier",
        Labelling,
        lambda: Classifier(V, L, stack()),
        TEXT,
        (B, L),
        V * D + ENCODER + dense(D, L),
        21,
    ),
    model("tagger", Labelling, lambda: Tagger(V, L, stack()), TEXT, (B, T, L), V * D + ENCODER + dense(D, L), 21),
    model("encoder", Labelling, lambda: Encoder(V, stack()), TEXT, (B, D), V * D + ENCODER, 19),
    # `W_1` reads `[r; s; |r - s|; r - s]`.
    model(
        "pair-classifier",
        Comparing,
        lambda: PairClassifier(V, L, stack()),
        TEXTS,
        (B, L),
        V * D + ENCODER + dense(4 * D, D) + dense(D, L),
        23,
    ),
    # The target embedding is the output matrix, too: there is no other.
    model(
        "transformer",
        Translating,
        lambda: Transformer(V, W, stack(), stack(cross=True)),
        PAIR,
        (B, T, W),
        V * D + W * D + ENCODER + DECODER,
        2 + 18 + 28,
    ),
    model(
        "depth-adaptive-transformer",
        Translating,
        depth_adaptive,
        PAIR,
        (B, T, W),
        V * D + W * D + ENCODER + 2 * DECODER + 2 * W * D,
        2 + 18 + 2 * 28 + 2,
    ),
    # https://arxiv.org/abs/1409.0473: `s_0 = tanh(W h)`, the cell reads `[y; c]`, `t = tanh(W [s; c; y])`, and a bias.
    model(
        "seq2seq",
        Translating,
        lambda: Seq2Seq(V, W, D),
        PAIR,
        (B, T, W),
        *SEQ2SEQ,
    ),
    # Two of the row before.
    model(
        "ensemble",
        Translating,
        lambda: Ensemble([Seq2Seq(V, W, D) for _ in range(2)]),
        PAIR,
        (B, T, W),
        *(2 * count for count in SEQ2SEQ),
    ),
]
