"""Token embedding whose matrix is also the output matrix."""

from typing import Any

from keras import initializers, layers, ops

from zoo.core.registry import register


@register
class TokenEmbedding(layers.Layer):
    """`x_t = sqrt(units) * E[id_t]`; `logits(x) = x E^T`.

    One matrix for input and output (Press and Wolf 2017; section 3.4 of "Attention Is All You Need"). Its entries start
    with variance `1 / units`, so that scaled embeddings have variance 1, like the positions that are added to them.

    Shapes: ids `(...)` int32 -> `(..., units)`; `logits`: `(..., units)` -> `(..., vocab_size)` float32.

    Args:
        vocab_size: number of ids.
        units: width of a vector.

    Raises:
        ValueError: a size is not a positive integer.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import TokenEmbedding
        >>> embedding = TokenEmbedding(11, 4)
        >>> tuple(embedding(np.zeros((2, 3), "int32")).shape)
        (2, 3, 4)

    References: https://arxiv.org/abs/1706.03762, section 3.4; https://arxiv.org/abs/1608.05859.
    """

    def __init__(self, vocab_size: int, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for name, value in (("vocab_size", vocab_size), ("units", units)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"TokenEmbedding needs a positive integer as {name}. Received: {value!r}.")
        self.vocab_size, self.units = vocab_size, units

    def build(self, ids_shape=None):
        self.matrix = self.add_weight(
            name="matrix",
            shape=(self.vocab_size, self.units),
            initializer=initializers.RandomNormal(stddev=self.units**-0.5),
        )

    def call(self, ids, training=None):
        return ops.take(ops.cast(self.matrix, self.compute_dtype), ids, axis=0) * self.units**0.5

    def logits(self, x, columns=None):
        """`(..., vocab_size)`; with `columns` of `output_columns` only those."""
        columns = ops.transpose(ops.cast(self.matrix, self.compute_dtype)) if columns is None else columns
        return ops.cast(ops.matmul(x, columns), "float32")

    def output_columns(self, ids):
        """The columns of the output matrix `E^T` that belong to ids `(n,)`: `(units, n)`."""
        return ops.transpose(ops.take(ops.cast(self.matrix, self.compute_dtype), ids, axis=0))

    def readout(self, x):
        """`(x, E)`, from which a loss computes the logits itself (`zoo.training.ChunkedCrossEntropy`)."""
        return x, ops.convert_to_tensor(self.matrix)

    def compute_output_shape(self, ids_shape):
        return (*ids_shape, self.units)

    def get_config(self):
        return {**super().get_config(), "vocab_size": self.vocab_size, "units": self.units}
