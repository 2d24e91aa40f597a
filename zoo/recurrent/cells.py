"""The recurrent cells by name. They are Keras' own: this file only says which one is which equation of which paper.

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

from typing import Any

from keras import layers

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
