"""One step of a Star-Transformer: every position looks at its two neighbours and at a relay, the relay at all."""

from keras import layers, ops

from zoo.blocks.residual import EPSILON
from zoo.composed import Composed
from zoo.dropout import Dropout
from zoo.masks import ImplicitMasks, masked_softmax
from zoo.precision import wide
from zoo.registry import register
from zoo.seeds import shifted

CONNECTIONS = ("star", "ring", "radical")


def ring_neighbours(x, lengths):
    """`(x_{i-1}, x_{i+1})` of a ring that closes behind each row's own length: after the last comes the first."""
    time = ops.shape(x)[1]
    last = ops.maximum(lengths - 1, 0)[:, None]
    final = ops.take_along_axis(x, last[:, :, None] + ops.zeros((1, 1, x.shape[-1]), dtype="int32"), axis=1)
    before = ops.concatenate([final, x[:, :-1]], axis=1)
    after = ops.concatenate([x[:, 1:], x[:, :1]], axis=1)
    closes = ops.arange(time, dtype="int32")[None, :] == last
    return before, ops.where(closes[:, :, None], x[:, :1], after)


def attend_few(query, keys, values, heads):
    """Multi-head attention of each position over its own few: `query (batch, time, units)`, lists of keys and values.

    What all positions see is `(batch, 1, units)` in the lists.

    Products and sums of whole sequences: the cost is that of `len(keys)` additions, and no list is ever stacked.
    """
    shape, head_dim = ops.shape(query), query.shape[-1] // heads

    def split(x):
        return ops.reshape(x, (*ops.shape(x)[:-1], heads, head_dim))

    query = split(query) * head_dim**-0.5
    scores = [ops.sum(wide(query * split(key)), axis=-1) for key in keys]
    weights = ops.cast(masked_softmax(ops.stack(scores, axis=-1)), query.dtype)
    return ops.reshape(sum(weights[..., place, None] * split(value) for place, value in enumerate(values)), shape)


@register
class StarBlock(Composed, ImplicitMasks, layers.Layer):
    """`h_i <- LN(ReLU(MultiAtt(h_i, [h_{i-1}; h_i; h_{i+1}; e_i; s])))`, all of the step before, and then
    `s <- LN(ReLU(MultiAtt(s, [s; H])))` of the new `H`.

    The ring of the `h` is closed: the last position of a row, by its own length, is the first one's neighbour. There is
    no residual stream and no feed-forward layer; each position sees its embedding `e_i` again instead.

    Call arguments:
        states: `h`, `(batch, time, units)`.
        embeddings: `e`, of the same shape.
        relay: `s`, `(batch, 1, units)`.
        mask: `(batch, time)` bool, True = keep; a row's valid positions come first.

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

    parts = ("attention", "relay_attention")

    def __init__(self, attention, relay_attention=None, connections="star", dropout=0.0, seed=None, **kwargs):
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
        for attention in (self.attention, self.relay_attention):
            if attention is not None and not attention.built:
                attention.build(shape)

    def call(self, states, embeddings, relay, mask=None, training=None):
        mixed = self._look_around(states, embeddings, relay, mask)
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

    def _look_around(self, states, embeddings, relay, mask):
        """`MultiAtt(h_i, C_i)`; a projection is computed once per vector, however many see it."""
        attention, lengths = self.attention, self._lengths(states, mask)
        seen = []
        for project in (attention.key_projection, attention.value_projection):
            own = project(states)
            few = [*ring_neighbours(own, lengths)] if self.connections != "radical" else []
            few += [own, project(embeddings)]
            if self.connections != "ring":
                few.append(project(relay))
            seen.append(few)
        query = attention.query_projection(states)
        return attention.output_projection(attend_few(query, *seen, attention.num_heads))

    @staticmethod
    def _lengths(states, mask):
        if mask is None:
            return ops.full((ops.shape(states)[0],), ops.shape(states)[1], dtype="int32")
        return ops.sum(ops.cast(mask, "int32"), axis=1)

    def compute_output_shape(self, states_shape, embeddings_shape=None, relay_shape=None):
        return tuple(states_shape), (states_shape[0], 1, self.units)

    def compute_mask(self, states, mask=None, **kwargs):
        return mask, None

    def get_config(self):
        own = {"connections": self.connections, "dropout": self.dropout, "seed": self.seed}
        return {**super().get_config(), **own}
