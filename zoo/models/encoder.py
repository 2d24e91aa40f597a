"""The vector of a text: how the states of its tokens become one, and a model that gives it."""

from collections.abc import Mapping
from typing import Any

from keras import layers, ops

from zoo.core.masks import ImplicitMasks, masked_mean, wide
from zoo.core.protocols import output_units
from zoo.core.registry import register
from zoo.models import signatures
from zoo.models.labelling import Labeller

RULES = ("mean", "first")
DENSE = ("tanh", "relu", None)


@register
class Pooling(ImplicitMasks, layers.Layer):
    """`h = mean_t x_t` over the positions that the mask keeps, or `h = x_1`; with `dense` then `f(W h + b)`.

    Shapes: `(batch, time, units)` -> `(batch, units)`; mask `(batch, time)` bool, True = keep. The `h` of a row without
    any valid position is 0.

    Args:
        rule: "mean", or "first" for the first token, as BERT reads it.
        dense: `f`, "tanh" or "relu"; None is no dense layer.

    Raises:
        ValueError: an unknown rule or function.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Pooling
        >>> tuple(Pooling("first", dense="tanh")(np.ones((2, 5, 4), "float32")).shape)
        (2, 4)

    Reference: https://arxiv.org/abs/1810.04805, section 3 (the first token) and its code (the dense layer).
    """

    def __init__(self, rule: str = "mean", dense: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if rule not in RULES or dense not in DENSE:
            raise ValueError(
                f"Unknown pooling: expected a rule of {RULES} and dense of {DENSE}. Received: rule={rule!r}, "
                f"dense={dense!r}."
            )
        self.rule, self.dense = rule, dense
        self.projection = None

    def build(self, x_shape):
        if self.dense:
            self.projection = layers.Dense(
                x_shape[-1], activation=self.dense, name="projection", dtype=self.dtype_policy
            )
            self.projection.build((x_shape[0], x_shape[-1]))

    def call(self, x, mask=None):
        if self.rule == "mean":
            h = masked_mean(x, mask)
        else:
            h = x[:, 0] if mask is None else ops.where(mask[:, :1], x[:, 0], 0.0)
        return h if self.projection is None else self.projection(h)

    def compute_output_shape(self, x_shape):
        return x_shape[0], x_shape[-1]

    def compute_mask(self, x, mask=None):
        return None


NOBODY = -1e9  # the logit of a text without tokens, which only fills up a batch
SMALLEST = 1e-24  # bound of a squared length: a vector of zeros stays one and has a finite gradient


def normalise(vectors):
    """`v / |v|`, float32 at least; 0 stays 0."""
    vectors = wide(vectors)
    return vectors / ops.sqrt(ops.maximum(ops.sum(ops.square(vectors), axis=-1, keepdims=True), SMALLEST))


def partner_logits(first, second, scale, lengths):
    """`scale_i u_i v_j` of vectors of length 1, `(batch, batch)`, and -1e9 of texts `j` without tokens but `i` itself.

    The cross-entropy of the label `i` in row `i` is the multiple-negatives ranking loss.

    Reference: https://arxiv.org/abs/1705.00652 (Henderson et al. 2017), section 4.4.
    """
    is_present = ops.logical_or(lengths > 0, ops.eye(ops.shape(lengths)[0], dtype="bool"))
    logits = scale[:, None] * ops.matmul(first, ops.transpose(second))
    return ops.where(is_present, logits, NOBODY)


@register
class Encoder(Labeller):
    """`v = pool(h_1, ..., h_n)`, and with `normalize` `v / |v|`: the vector of a text, of an encoder's states `h`.

    Texts are compared by the cosine of their vectors, which is their product where they are normalised.

    Call arguments: a dict of `token_ids (batch, time)` and `lengths (batch,)`, int32; EOS ends a text.
    Returns: `(batch, units)`, float32. An empty row has 0. `states(inputs)` gives the states, `(batch, time, units)`.
    Called with pairs, as a `PairClassifier` reads them, it returns the cosines, `(batch,)`: so it is trained. With
    `scale (batch,)` beside the pairs it returns `scale_i cos(u_i, v_j)`, `(batch, batch)`: how likely the second text
    `j` is the partner of the first text `i`. An empty second text, such as one that fills up a batch, is nobody's.

    Args:
        vocab_size, encoder, positions, embedding: as of `Classifier`.
        dropout: on the sum of embeddings and positions.
        seed: of the dropout.
        pooling: a layer such as `zoo.models.Pooling`; None is the mean of the states over the text's own positions, or
            the summary of an encoder that has one (`zoo.depth.StarStack`).
        normalize: whether vectors have the length 1.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Encoder
        >>> from zoo.depth import make_stack
        >>> model = Encoder(11, make_stack(1, units=8, num_heads=2, hidden_units=16), normalize=True)
        >>> tuple(model({"token_ids": np.ones((2, 5), "int32"), "lengths": np.array([5, 3], "int32")}).shape)
        (2, 8)

    Reference: https://arxiv.org/abs/1908.10084 (Sentence-BERT), section 3.
    """

    labels = False

    def __init__(
        self,
        vocab_size: int,
        encoder: Any,
        positions: Any = None,
        embedding: Any = None,
        dropout: float = 0.1,
        seed: int | None = None,
        pooling: Any = None,
        normalize: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab_size, None, encoder, positions, embedding, dropout, seed, pooling, **kwargs)
        self.normalize = normalize

    @property
    def units(self):
        """The number of units of a vector."""
        return output_units(self.encoder)

    def call(self, inputs, training=None):
        if isinstance(inputs, Mapping) and "first_ids" in inputs:
            first, second = map(normalise, self.summarise_both(inputs, training))
            if "scale" in inputs:
                return partner_logits(first, second, inputs["scale"], inputs["second_lengths"])
            return ops.sum(first * second, axis=-1)
        vectors = self.summarise(inputs, training)
        return ops.cast(normalise(vectors) if self.normalize else vectors, "float32")

    def signatures(self):
        """The typed table of what this model serves."""
        return signatures.encoder(self.units)
