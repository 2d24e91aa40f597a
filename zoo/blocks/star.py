"""One step of a Star-Transformer: every position looks at its two neighbours and at a relay, the relay at all."""

from functools import partial
from typing import Any

from keras import layers, ops

from zoo.core.dropout import Dropout, shifted
from zoo.core.masks import ImplicitMasks, masked_softmax, wide
from zoo.core.norms import EPSILON
from zoo.core.registry import build_parts, register

CONNECTIONS = ("star", "ring", "radical")


def ring_neighbours(x, first, last):
    """`(x_{i-1}, x_{i+1})` of a ring from position `first` to position `last` of each row, both `(batch,)` int32.

    The neighbour after the last position is the first, and the one before the first is the last.
    """
    place = ops.arange(ops.shape(x)[1], dtype="int32")[None, :, None]

    def at(end):
        return ops.take_along_axis(x, end + ops.zeros((1, 1, x.shape[-1]), dtype="int32"), axis=1)

    first, last = first[:, None, None], last[:, None, None]
    before = ops.concatenate([x[:, :1], x[:, :-1]], axis=1)
    after = ops.concatenate([x[:, 1:], x[:, -1:]], axis=1)
    return ops.where(place == first, at(last), before), ops.where(place == last, at(first), after)


def ends_of_ring(x, mask):
    """The first and the last valid position of each row, `(batch,)` int32; an empty row has 0 and 0."""
    if mask is None:
        zeros = ops.zeros((ops.shape(x)[0],), dtype="int32")
        return zeros, zeros + ops.shape(x)[1] - 1
    first = ops.cast(ops.argmax(ops.cast(mask, "int32"), axis=1), "int32")
    return first, ops.maximum(first + ops.sum(ops.cast(mask, "int32"), axis=1) - 1, 0)


def attend_few(query, keys, values, heads, drop):
    """Multi-head attention of each position over its own few: `query (batch, time, units)`, lists of keys and values.

    What all positions see is `(batch, 1, units)` in the lists; `drop` is the dropout of the weights.

    Products and sums of whole sequences: the cost is that of `len(keys)` additions, and no list is ever stacked.
    """
    shape, head_dim = ops.shape(query), query.shape[-1] // heads

    def split(x):
        return ops.reshape(x, (*ops.shape(x)[:-1], heads, head_dim))

    query = split(query) * head_dim**-0.5
    scores = [ops.sum(wide(query * split(key)), axis=-1) for key in keys]
    weights = drop(ops.cast(masked_softmax(ops.stack(scores, axis=-1)), query.dtype))
    return ops.reshape(sum(weights[..., place, None] * split(value) for place, value in enumerate(values)), shape)


@register
class StarBlock(ImplicitMasks, layers.Layer):
    """`h_i <- LN(ReLU(MultiAtt(h_i, [h_{i-1}; h_i; h_{i+1}; e_i; s])))`, all of the step before, and then
    `s <- LN(ReLU(MultiAtt(s, [s; H])))` of the new `H`.

    The ring of the `h` is closed: the last valid position of a row is the neighbour of the first valid one. There is
    no residual stream and no feed-forward layer; each position sees its embedding `e_i` again instead.

    Call arguments:
        states: `h`, `(batch, time, units)`.
        embeddings: `e`, of the same shape.
        relay: `s`, `(batch, 1, units)`.
        mask: `(batch, time)` bool, True = keep; the valid positions of a row lie side by side, without a gap.

    Returns: `(states, relay)`. Cost: `O(time * units^2)` for the projections and `O(6 * time * units)` for attention.

    Args:
        attention: a `MultiHeadAttention` of the positions.
        relay_attention: another of the relay; None leaves the relay as it is, which is what the last block of a tagger
            does: nobody reads its relay.
        connections: "star" is the paper. For its ablation, "ring" takes the relay away (its positions see neighbours
            alone, and `relay_attention` must be None), "radical" the neighbours.
        dropout: on what attention gives, before ReLU.
        seed: of the dropout.

    Raises:
        ValueError: the two attentions differ in units, unknown `connections`, or "ring" with a `relay_attention`.

    Example:
        >>> import numpy as np
        >>> from zoo.blocks import StarBlock
        >>> from zoo.attention import MultiHeadAttention
        >>> block = StarBlock(MultiHeadAttention(8, 2), MultiHeadAttention(8, 2))
        >>> x, relay = np.ones((2, 3, 8), "float32"), np.ones((2, 1, 8), "float32")
        >>> [tuple(each.shape) for each in block(x, x, relay)]
        [(2, 3, 8), (2, 1, 8)]

    Reference: https://arxiv.org/abs/1902.09113, equations 4-8.
    """

    def __init__(
        self,
        attention: Any,
        relay_attention: Any = None,
        connections: str = "star",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if connections not in CONNECTIONS:
            raise ValueError(f"Unknown connections: expected one of {CONNECTIONS}, received {connections!r}.")
        if relay_attention is not None and relay_attention.units != attention.units:
            raise ValueError(
                "StarBlock needs two attentions of the same units, because positions and relay see each other. "
                f"Received: attention={attention.units}, relay_attention={relay_attention.units}."
            )
        if relay_attention is not None and connections == "ring":
            raise ValueError(
                'StarBlock with connections="ring" has no relay that could look at the positions. '
                'Expected relay_attention=None, or connections="star".'
            )
        self.attention, self.relay_attention = attention, relay_attention
        self.connections, self.dropout, self.seed = connections, dropout, seed
        count = 1 if relay_attention is None else 2
        names = ("ring", "relay")[:count]
        self.norms = [
            layers.LayerNormalization(epsilon=EPSILON, name=f"{name}_norm", dtype=self.dtype_policy) for name in names
        ]
        self.dropout_layers = [
            Dropout(dropout, seed=shifted(seed, index), name=f"{name}_drop", dtype=self.dtype_policy)
            for index, name in enumerate(names)
        ]

    @property
    def units(self):
        return self.attention.units

    def build(self, states_shape, embeddings_shape=None, relay_shape=None):
        shape = (*states_shape[:-1], self.units)
        for norm in self.norms:
            norm.build(shape)
        build_parts([self.attention, self.relay_attention], shape)

    def call(self, states, embeddings, relay, mask=None, training=None):
        mixed = self._look_around(states, embeddings, relay, mask, training)
        states = self._finish(0, mixed, training)
        if self.relay_attention is None:
            return states, relay
        nodes, node_mask = ops.concatenate([relay, states], axis=1), None
        if mask is not None:
            node_mask = ops.concatenate([ops.ones_like(mask[:, :1]), mask], axis=1)
        mixed = self.relay_attention(relay, nodes, value_mask=node_mask, training=training)
        return states, self._finish(1, mixed, training)

    def _finish(self, index, mixed, training):
        """`LN(ReLU(.))`."""
        return self.norms[index](ops.relu(self.dropout_layers[index](mixed, training=training)))

    def _look_around(self, states, embeddings, relay, mask, training):
        """`MultiAtt(h_i, C_i)`; a projection is computed once per vector, however many see it."""
        attention, ends = self.attention, ends_of_ring(states, mask)
        seen = []
        for project in (attention.key_projection, attention.value_projection):
            own = project(states)
            few = [*ring_neighbours(own, *ends)] if self.connections != "radical" else []
            few += [own, project(embeddings)]
            if self.connections != "ring":
                few.append(project(relay))
            seen.append(few)
        query, drop = attention.query_projection(states), partial(attention.dropout_layer, training=training)
        return attention.output_projection(attend_few(query, *seen, attention.num_heads, drop))

    def compute_output_shape(self, states_shape, embeddings_shape=None, relay_shape=None):
        return tuple(states_shape), (states_shape[0], 1, self.units)

    def compute_mask(self, states, mask=None, **kwargs):
        return mask, None
