"""The one place where ids enter a network, in a pass over whole texts and in a step of writing alike."""

from dataclasses import dataclass
from typing import Any

from keras import ops

from zoo.core.protocols import Embedding, Positions


@dataclass(frozen=True)
class Entrance:
    """`x = dropout(positions(embedding(ids)))`: embed and scale, place, and whatever else the layer of positions does.

    Attributes:
        embedding, positions: layers of those slots.
        drop: a layer of dropout.
    """

    embedding: Any
    positions: Any
    drop: Any

    def read(self, token_ids, mask=None, training=None):
        """`(x, mask)` of whole sequences `(batch, time)`; an embedding that gathers gives another mask."""
        if Embedding.of(self.embedding).gathers:
            x, mask = self.embedding(token_ids, mask=mask, training=training)
        else:
            x = self.embedding(token_ids, training=training)
        return self.drop(self.positions(x, mask=mask), training=training), mask

    def step(self, token_ids, places, entries=None):
        """`x (batch, beams, units)` of one new token a beam: what `read` gives at these places.

        Args:
            token_ids: `(batch, beams)`.
            places: of the tokens in their texts, a scalar or `(batch, 1)`, from 0.
            entries: more than any place, a number; None where there is no bound.
        """
        return place(self.positions, self.embedding(token_ids), ops.reshape(places, (-1, 1)), entries)


def place(positions, x, places, entries=None):
    """What a layer of positions makes of vectors `x (batch, beams, units)` that stand at `places (batch | 1, 1)`.

    A layer whose `call` takes `places` is told them. Of any other that is `by_place` it is computed what it makes of a
    whole row of each vector, of which the place is then taken: its `call` alone says what it does.
    """
    if "places" in positions.call_signature_parameters:
        return positions(x, places=places)
    length = ops.max(places) + 1 if entries is None else entries
    longest = Positions.of(positions).longest
    if longest is not None:
        places = ops.minimum(places, longest - 1)
        length = min(length, longest) if isinstance(length, int) else ops.minimum(length, longest)
    batch, beams, units = ops.shape(x)[0], ops.shape(x)[1], x.shape[-1]
    rows = ops.reshape(ops.broadcast_to(x[:, :, None], (batch, beams, length, units)), (batch * beams, length, units))
    placed = ops.reshape(positions(rows), (batch, beams, length, units))
    index = ops.broadcast_to(ops.reshape(places, (-1, 1, 1, 1)), (batch, beams, 1, units))
    return ops.take_along_axis(placed, index, axis=2)[:, :, 0]
