"""Embedding of words by their pieces and by the spelling of the pieces."""

from typing import Any

from keras import initializers, layers, ops

from zoo.core import protocols
from zoo.core.dropout import Dropout
from zoo.core.masks import wide
from zoo.core.registry import register
from zoo.embeddings.tokens import as_ids


@register
class SpelledEmbedding(layers.Layer):
    """`x_t = sqrt(units / n) sum_s (E[id_s] + sum_f G[f(id_s)] / sqrt(F))` over the `n` pieces `s` of the word of `t`.

    `f(id)` are the `F` features of a piece, its beginning, its end and its shape, and `G` has a vector for each of
    them. A rare word is represented by its suffix and its capital letter, for example. Every piece of a word gets the
    vector of the whole word. In training `dropout` hides `E[id_t]`, so that the model learns to use the spelling alone,
    which is all there is for an unknown word.

    Features and starts of words are weights that are not trained: `set_features` gives them once, and files keep
    them. Before that, all pieces have the same features and each is a word.

    Shapes: ids `(batch, time)` int32 -> `(batch, time, units)`. Padding must be PAD, which is a word of its own.
    Cost: `O(time^2 * units)` for the sums, like attention.

    Args:
        vocab_size: number of ids.
        units: width of a vector.
        features: F, of each piece.
        buckets: vectors that ends and shapes share, `G`; a small vocabulary needs fewer.
        dropout: the share of the pieces whose own vector is hidden in training.
        seed: of the dropout.

    Raises:
        ValueError: a size is not a positive integer, or `dropout` is outside [0, 1).

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import SpelledEmbedding
        >>> embedding = SpelledEmbedding(3, 4)
        >>> embedding.set_features(np.zeros((3, 9), "int32"), np.ones(3, "int32"))
        >>> tuple(embedding(np.zeros((2, 3), "int32")).shape)
        (2, 3, 4)

    Reference: https://arxiv.org/abs/1607.04606 (word vectors as sums over their character n-grams).
    """

    traits = protocols.Embedding(spells=True)

    def __init__(
        self,
        vocab_size: int,
        units: int,
        features: int = 9,
        buckets: int = 8192,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{**kwargs, "autocast": False})  # ids are not rounded
        sizes = {"vocab_size": vocab_size, "units": units, "features": features, "buckets": buckets}
        for name, value in sizes.items():
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"SpelledEmbedding needs a positive integer as {name}. Received: {value!r}.")
        self.vocab_size, self.units, self.features, self.buckets = sizes.values()
        self.dropout, self.seed = dropout, seed
        self.dropout_layer = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, ids_shape=None):
        self.matrix, self.spelling = (
            self.add_weight(
                name=name,
                shape=(rows, self.units),
                initializer=initializers.RandomNormal(stddev=self.units**-0.5),
            )
            for name, rows in (("matrix", self.vocab_size), ("spelling", self.buckets))
        )
        self.table, self.starts = (
            self.add_weight(name=name, shape=shape, dtype="int32", initializer=initial, trainable=False)
            for name, shape, initial in (
                ("table", (self.vocab_size, self.features), "zeros"),
                ("starts", (self.vocab_size,), "ones"),
            )
        )

    def set_features(self, table, starts):
        """Give every piece its features `(vocab_size, features)`, and 1 where it begins a word.

        `zoo.text.spelling_features` makes both from the pieces of a tokenizer.
        """
        if not self.built:
            self.build()
        self.table.assign(table)
        self.starts.assign(starts)

    def call(self, ids, training=None):
        ids = as_ids(ids)
        own = ops.take(ops.cast(self.matrix, self.compute_dtype), ids, axis=0)
        own = own * self.dropout_layer(ops.ones_like(own[:, :, :1]), training=training)
        characters = ops.take(ops.cast(self.spelling, self.compute_dtype), ops.take(self.table, ids, axis=0), axis=0)
        x = own + ops.sum(characters, axis=-2) * self.features**-0.5
        word = ops.cumsum(ops.take(self.starts, ids, axis=0), axis=1)
        x = wide(x)
        same = ops.cast(word[:, :, None] == word[:, None, :], x.dtype)
        sums = ops.matmul(same, x) * (self.units / ops.sum(same, axis=-1, keepdims=True)) ** 0.5
        return ops.cast(sums, self.compute_dtype)

    def compute_output_shape(self, ids_shape):
        return (*ids_shape, self.units)
