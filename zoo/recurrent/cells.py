"""The recurrent cells by name, and any of them with attention: a look at a memory before each step.

The cells are Keras' own: the table only says which one is which equation of which paper.

| name | equation | Keras |
|---|---|---|
| `simple_rnn` | `h = tanh(W x + U h' + b)` | `SimpleRNN` |
| `gru` | `c~ = tanh(W x + b_i + r * (U h' + b_r))` (reset after the product; cuDNN's form) | `GRU(reset_after=True)` |
| `gru_reset_before` | `c~ = tanh(Wc [r * h', x] + bc)` (Cho et al. 2014, arXiv v3) | `GRU(reset_after=False)` |
| `lstm` | `c = f * c' + i * g`, `h = o * tanh(c)`, forget bias 1 | `LSTM` |

The update gate is written two ways: `h = u * c~ + (1 - u) * h'` (course notes, Bahdanau) and, in Keras and Cho 2014,
`h = z * h' + (1 - z) * c~`. They are one model with `z = 1 - u`: negate `W_u, U_u, b_u` to load weights from one into
the other. Keras keeps the kernels side by side in the order `[z, r, h]`.
"""

from contextlib import contextmanager
from typing import Any

import keras
from keras import layers, ops

from zoo.core.registry import register
from zoo.gradients.ambient import Ambient

CELLS = {
    "simple_rnn": (layers.SimpleRNNCell, layers.SimpleRNN, {}),
    "gru": (layers.GRUCell, layers.GRU, {"reset_after": True}),
    "gru_reset_before": (layers.GRUCell, layers.GRU, {"reset_after": False}),
    "lstm": (layers.LSTMCell, layers.LSTM, {}),
}


def check_cell(name):
    """`name` if it is a known cell.

    Raises:
        ValueError: the name is unknown; the message lists the known ones.
    """
    if name not in CELLS:
        raise ValueError(f"Unknown recurrent cell: expected one of {sorted(CELLS)}, received {name!r}.")
    return name


def check_layers(num_layers):
    """`num_layers` if it is a positive integer.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(num_layers, int) or num_layers < 1:
        raise ValueError(f"num_layers must be at least 1. Received: {num_layers!r}.")
    return num_layers


def make_cell(name: str, units: int, num_layers: int = 1, **kwargs: Any) -> Any:
    """One step of the named recurrence: a Keras cell, or a `StackedRNNCells` when `num_layers > 1`."""
    cell, _, settings = CELLS[check_cell(name)]
    if check_layers(num_layers) == 1:
        return cell(units, **settings, **kwargs)
    return layers.StackedRNNCells([cell(units, **settings, **kwargs) for _ in range(num_layers)], **kwargs)


def make_layer(name: str, units: int, **kwargs: Any) -> Any:
    """The named recurrence over a whole sequence: a Keras layer."""
    _, layer, settings = CELLS[check_cell(name)]
    return layer(units, **settings, **kwargs)


def top_hidden(cell, states):
    """The hidden state of the topmost layer, `(rows, units)`: what is shown to the attention."""
    if isinstance(cell, layers.StackedRNNCells):
        states = states[-1]
    return states[0] if isinstance(states, (list, tuple)) else states


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
        self._build_attention(tuple(values.shape))
        keys = self.attention.project(values) if keys is None else keys
        with self._bound.holding({"values": values, "keys": keys, "mask": value_mask}):
            yield self

    def _build_attention(self, value_shape):
        if not self.attention.built:
            self.attention.build((None, None, top_size(self.cell.output_size)), value_shape)
            self.attention.built = True

    def build(self, input_shape, value_shape=None):
        value_shape = tuple(self.memory["values"].shape) if value_shape is None else value_shape
        self._build_attention(value_shape)
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
