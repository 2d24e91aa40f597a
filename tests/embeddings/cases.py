"""The embeddings as cases of the contract battery."""

from zoo.check.laws import Case, length_mask, sequences, token_ids
from zoo.embeddings import (
    AxialPositions,
    ConcatenatedPositions,
    ConvolutionalPositions,
    LearnedPositions,
    NormalizedPositions,
    SentenceEmbedding,
    SinusoidalPositions,
    SpelledEmbedding,
    TokenEmbedding,
)


def ids(rows, time, noise):
    return {"ids": token_ids(rows, time, 13, noise)}


def vectors(rows, time, noise):
    return {"x": sequences(rows, time, 5, noise)}


def masked(rows, time, noise):
    return {**vectors(rows, time, noise), "mask": length_mask(rows, time)}


def spoken(rows, time, noise):
    return {**ids(rows, time, noise), "mask": length_mask(rows, time)}


def sentences():
    embedding = SentenceEmbedding(13, 5, longest=2)
    embedding.mark([0, 1] + 10 * [0] + [1])
    return embedding


def even(rows, time, noise):
    return {"x": sequences(rows, time, 6, noise)}


METHOD = ("symbolic", "elsewhere", "implicit_masks")  # a functional model knows layers, and none of their methods


def of_x(layer, arguments):
    return layer(arguments["x"])


def written(layer, arguments):
    return layer.logits(layer(arguments["ids"]))


CASES = [
    Case("axial", lambda: AxialPositions((4, 3)), even, of_x),
    Case("axial-unequal", lambda: AxialPositions((4, 3), row_units=1), even, of_x),
    Case("normalized", lambda: NormalizedPositions(LearnedPositions(11), 1e-3), vectors, of_x, core=True),
    Case("normalized-projected", lambda: NormalizedPositions(ConvolutionalPositions(3), 1e-3, units=7), masked),
    Case("concatenated", lambda: ConcatenatedPositions(11, 3), masked),
    Case("convolutional", lambda: ConvolutionalPositions(3), masked),
    Case("tokens", lambda: TokenEmbedding(13, 5), ids, lambda layer, arguments: layer(arguments["ids"]), core=True),
    Case("tokens-own-output", lambda: TokenEmbedding(13, 5, False, False, True), ids, written, without=METHOD),
    Case(
        "spelled",
        lambda: SpelledEmbedding(13, 5, features=2, buckets=7),
        ids,
        lambda layer, arguments: layer(arguments["ids"]),
    ),
    # Keras attaches no mask to ids.
    Case("sentences", sentences, spoken, lambda layer, arguments: layer(**arguments)[0], without=("implicit_masks",)),
    Case("sinusoidal", SinusoidalPositions, vectors, of_x, core=True),
    Case("learned", lambda: LearnedPositions(11), vectors, of_x, core=True),
]
