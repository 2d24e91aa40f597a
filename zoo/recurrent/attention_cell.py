"""Any recurrent cell that looks at a memory before each step (Bahdanau, Cho, Bengio 2015)."""

from contextlib import contextmanager
from typing import Any

import keras
from keras import ops

from zoo.core.registry import register
from zoo.gradients.ambient import Ambient
from zoo.recurrent.cells import top_hidden


@register
class AttentionCell(keras.layers.Layer):
    """`a_j = softmax_i e(s_j, h_i)`, `c_j = sum_i a_ji h_i`, `s_{j+1} = cell([y_j; c_j], s_j)`; out: `[s_{j+1}; c_j]`.

    The context comes from the state *before* the step (Bahdanau); a context from the new state would be Luong's model.
    It enters every gate of the cell because it is part of its input. The cell follows the API of `keras.layers.RNN`.
    What it attends to is bound for the length of a `with` block, so keys are projected once per sentence and the loop
    captures them instead of carrying them through every step:

        >>> import keras
        >>> import numpy as np
        >>> from zoo.attention import AdditiveAttention
        >>> from zoo.recurrent import AttentionCell
        >>> cell = AttentionCell(keras.layers.GRUCell(8), AdditiveAttention(8))
        >>> rnn = keras.layers.RNN(cell, return_sequences=True)
        >>> with cell.attending(np.ones((2, 7, 4), "float32")):
        ...     tuple(rnn(np.ones((2, 3, 5), "float32")).shape)
        (2, 3, 12)

    Shapes: inputs `(rows, input_units)`, where rows is the memory's batch times any number of hypotheses per sentence
    (1 in training, the beams in search: they are query positions, the memory is never tiled).
    Cost per step: the cell's, plus one query of the attention per row.

    Args:
        cell: a Keras RNN cell, or `StackedRNNCells`; its topmost hidden state is the query.
        attention: `AdditiveAttention`, `DotProductAttention`, or any layer with their `precompute` and `attend`.

    Raises:
        ValueError: the cell is called outside `attending`.
    """

    def __init__(self, cell: Any, attention: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell
        self.attention = attention
        self.state_size = cell.state_size
        self._bound = Ambient()  # the memory that it looks at; two threads may run one model at a time
        self._shapes = None  # of `build`, for a file

    @property
    def memory(self):
        memory = self._bound.value
        if memory is None:
            raise ValueError(
                f"{self.name} was called without a memory to attend to. Wrap the call: "
                "`with cell.attending(values, value_mask): rnn(inputs)`."
            )
        return memory

    @property
    def output_size(self):
        return int(top_size(self.cell.output_size)) + int(self.memory["values"].shape[-1])

    @contextmanager
    def attending(self, values, value_mask=None, keys=None):
        """Bind `values` `(batch, value_time, value_units)` (and their keys, if projected already) inside the block."""
        if not self.attention.built:
            self.attention.build((None, None, top_size(self.cell.output_size)), tuple(values.shape))
            self.attention.built = True
        keys = self.attention.project(values) if keys is None else keys
        with self._bound.holding({"values": values, "keys": keys, "mask": value_mask}):
            yield self

    def build(self, input_shape, value_shape=None):
        value_shape = tuple(self.memory["values"].shape) if value_shape is None else value_shape
        if not self.attention.built:
            self.attention.build((None, None, top_size(self.cell.output_size)), value_shape)
            self.attention.built = True
        if not self.cell.built:
            self.cell.build((input_shape[0], input_shape[-1] + value_shape[-1]))
            self.cell.built = True
        self._shapes = {"input_shape": tuple(input_shape), "value_shape": tuple(value_shape)}

    def get_build_config(self):
        return self._shapes

    def build_from_config(self, config):
        self.build(**config)  # the shape of the memory is known, though there is none yet

    def get_initial_state(self, batch_size=None):
        return self.cell.get_initial_state(batch_size=batch_size)

    def align(self, states):
        """`(context, weights)` of the current states: `(rows, value_units)` and `(batch, rows / batch, value_time)`."""
        memory = self.memory
        hidden = top_hidden(self.cell, states)
        batch = ops.shape(memory["values"])[0]
        query = ops.reshape(hidden, (batch, -1, hidden.shape[-1]))
        context, weights = self.attention.attend(query, memory, memory["mask"])
        return ops.reshape(context, (-1, memory["values"].shape[-1])), weights

    def advance(self, inputs, context, states, training=None):
        """One step of the cell on `[inputs; context]` -> `([output; context], states)`."""
        output, states = self.cell(ops.concatenate([inputs, context], axis=-1), states, training=training)
        return ops.concatenate([output, context], axis=-1), states

    def call(self, inputs, states, training=None):
        context, _ = self.align(states)
        return self.advance(inputs, context, states, training)


def top_size(size):
    return size[-1] if isinstance(size, (list, tuple)) else size
