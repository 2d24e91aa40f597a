"""Token ids, and their embedding, whose matrix is also the output matrix, unless that has one of its own."""

from typing import Any

import keras
from keras import initializers, layers, ops

from zoo.core import protocols
from zoo.core.registry import register


def as_ids(ids):
    """Ids as int32, or as the int64 that they are.

    They may be floats, as in Keras' own `Embedding`: a `keras.Input` without a dtype is float32, and so is what Keras
    builds a model of one's own with. A layer that takes ids has `autocast=False`, so that no precision rounds them.
    """
    whole = keras.backend.standardize_dtype(ids.dtype) in ("int32", "int64")
    return ids if whole else ops.cast(ids, "int32")


@register
class TokenEmbedding(layers.Layer):
    """`x_t = sqrt(units) * E[id_t]`; `logits(x) = x E^T`, or `x O^T + b`.

    One matrix for input and output (Press and Wolf 2017; section 3.4 of "Attention Is All You Need"). Its entries start
    with variance `1 / units`, so that scaled embeddings have variance 1, like the positions that are added to them.

    Shapes: ids `(...)` int32 -> `(..., units)`; `logits`: `(..., output_units)` -> `(..., vocab_size)` float32.

    Args:
        vocab_size: number of ids.
        units: width of a vector.
        scaled: whether vectors are multiplied by `sqrt(units)`.
        tied: whether `O` is `E`; else it is a matrix of its own, the weight `output_matrix`.
        output_bias: whether the logits have a bias `b`, which starts at 0.
        output_units: width of what `logits` reads, where that is not `units`; the matrices then cannot be tied.

    Raises:
        ValueError: a size is not a positive integer, or `output_units` with tied matrices.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import TokenEmbedding
        >>> embedding = TokenEmbedding(11, 4, tied=False)
        >>> x = embedding(np.zeros((2, 3), "int32"))
        >>> tuple(x.shape), tuple(embedding.logits(x).shape)
        ((2, 3, 4), (2, 3, 11))

    References: https://arxiv.org/abs/1706.03762, section 3.4; https://arxiv.org/abs/1608.05859.
    """

    traits = protocols.Embedding(writes=True)

    def __init__(
        self,
        vocab_size: int,
        units: int,
        scaled: bool = True,
        tied: bool = True,
        output_bias: bool = False,
        output_units: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{**kwargs, "autocast": False})  # ids are not rounded
        sizes = {"vocab_size": vocab_size, "units": units}
        sizes["output_units"] = units if output_units is None else output_units
        for name, value in sizes.items():
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"TokenEmbedding needs a positive integer as {name}. Received: {value!r}.")
        if tied and sizes["output_units"] != units:
            raise ValueError(
                "TokenEmbedding cannot use one matrix of vectors for states of another width. Expected tied=False, or "
                f"output_units={units}, as the vectors have. Received: output_units={output_units}."
            )
        self.vocab_size, self.units, self.scaled = vocab_size, units, scaled
        self.tied, self.output_bias, self.output_units = tied, output_bias, output_units

    def build(self, ids_shape=None):
        self.matrix = self._matrix("matrix", self.units)
        self.output_matrix = (
            self.matrix if self.tied else self._matrix("output_matrix", self.output_units or self.units)
        )
        self.bias = None
        if self.output_bias:
            self.bias = self.add_weight(name="output_bias", shape=(self.vocab_size,), initializer="zeros")

    def _matrix(self, name, units):
        initializer = initializers.RandomNormal(stddev=units**-0.5)
        return self.add_weight(name=name, shape=(self.vocab_size, units), initializer=initializer)

    def call(self, ids, training=None):
        x = ops.take(ops.cast(self.matrix, self.compute_dtype), as_ids(ids), axis=0)
        return x * self.units**0.5 if self.scaled else x

    def logits(self, x, columns=None):
        """`(..., vocab_size)`; with `columns` of `output_columns` only those."""
        if columns is None:
            columns = {"matrix": ops.transpose(ops.cast(self.output_matrix, self.compute_dtype)), "bias": self.bias}
        logits = ops.cast(ops.matmul(x, columns["matrix"]), "float32")
        return logits if self.bias is None else logits + ops.cast(columns["bias"], "float32")

    def output_columns(self, ids):
        """The columns of the output matrix that belong to ids `(n,)`, `(units, n)`, and what they have of the bias."""
        columns = {"matrix": ops.transpose(ops.take(ops.cast(self.output_matrix, self.compute_dtype), ids, axis=0))}
        return columns if self.bias is None else {**columns, "bias": ops.take(self.bias, ids, axis=0)}

    def readout(self, x):
        """`(x, O)` or `(x, O, b)`, of which a loss makes the logits itself (`zoo.training.ChunkedCrossEntropy`)."""
        weights = [self.output_matrix] if self.bias is None else [self.output_matrix, self.bias]
        return x, *map(ops.convert_to_tensor, weights)

    def compute_output_shape(self, ids_shape):
        return (*ids_shape, self.units)
