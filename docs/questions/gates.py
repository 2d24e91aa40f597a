"""What gates do for gradients: how much of the gradient at the end of a text reaches an earlier input."""

import numpy as np
import shared

SEEDS, TIME, UNITS, BATCH = 10, 60, 32, 16
CELLS = {  # name -> cell, bias of the gate that keeps the state
    "SimpleRNN": ("simple_rnn", None),
    "GRU": ("gru", None),
    "LSTM": ("lstm", None),
    "LSTM, gate opened": ("lstm", 4.0),
}


def measure():
    return {"seeds": SEEDS, "units": UNITS, "norms": {name: norms(*cell) for name, cell in CELLS.items()}}


def norms(cell, bias):
    """||dL/dx|| by distance from the end, relative to that of the last input; a row a seed."""
    import jax
    import keras

    from zoo.recurrent import make_layer

    rows = []
    for seed in range(SEEDS):
        keras.utils.set_random_seed(seed)
        draw = np.random.default_rng(seed)
        x = draw.normal(size=(BATCH, TIME, UNITS)).astype("float32")
        direction = draw.normal(size=(BATCH, UNITS)).astype("float32")
        layer = make_layer(cell, UNITS)
        layer.build(x.shape)
        if bias is not None:  # Keras keeps the gates in the order input, forget, candidate, output
            values = np.array(layer.cell.bias)
            values[UNITS : 2 * UNITS] = bias
            layer.cell.bias.assign(values)
        gradient = np.array(jax.grad(lambda x, layer=layer, v=direction: (layer(x) * v).sum())(x))
        size = np.sqrt((gradient**2).sum(-1)).mean(0)[::-1]
        rows.append((size / size[0]).round(12).tolist())
    return rows


def draw(found):
    figure, axes = shared.axes_of("Gradient of an input, by its distance from the end")
    looks = zip(
        found["norms"].items(), (shared.GREY, shared.BLUE, shared.RED, shared.RED), ("-", "-", "-", "--"), strict=True
    )
    for (name, rows), color, style in looks:
        rows = np.maximum(rows, 1e-9)
        shared.line(axes, np.arange(rows.shape[1]), rows, name, color, log=True, ls=style)
    axes.set(yscale="log", xlabel="steps back", ylabel="relative to the last input", ylim=(1e-8, 3))
    axes.legend(loc="lower left")
    return figure


def says(found):
    back = {name: np.exp(np.log(np.maximum(rows, 1e-30)).mean(0)) for name, rows in found["norms"].items()}
    return [f"{back[name][20]:.1g}" for name in back]
