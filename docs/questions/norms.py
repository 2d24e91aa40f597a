"""LayerNorm against BatchNorm: how much a text's vectors change when the other texts of its batch change."""

import numpy as np
import shared

SIZES, TIME, UNITS, DRAWS = (2, 4, 8, 16, 32, 64, 128), 12, 64, 30


def measure():
    import keras

    batch_norm = keras.layers.BatchNormalization()
    layer_norm = keras.layers.LayerNormalization()
    draw = np.random.default_rng(0)

    def texts(count):
        """Vectors of texts: what a text has in common, and what differs from word to word."""
        own, words = draw.normal(size=(count, 1, UNITS)), draw.normal(size=(count, TIME, UNITS))
        return ((own + words) / np.sqrt(2)).astype("float32")

    found = {"sizes": list(SIZES), "draws": DRAWS, "batch": [], "layer": []}
    for size in SIZES:
        changes = {"batch": [], "layer": []}
        for _ in range(DRAWS):
            text = texts(1)
            for name, norm in (("batch", batch_norm), ("layer", layer_norm)):
                one, two = (np.array(norm(np.concatenate([text, texts(size - 1)]), training=True))[0] for _ in "12")
                changes[name].append(float(np.linalg.norm(one - two) / np.linalg.norm(one)))
        for name, values in changes.items():
            found[name].append(np.quantile(values, (0.025, 0.5, 0.975)).round(6).tolist())
    return found


def draw(found):
    figure, axes = shared.axes_of("Change of a text's vectors with its company")
    for name, label, color in (("batch", "BatchNorm, in training", shared.RED), ("layer", "LayerNorm", shared.BLUE)):
        low, middle, high = 100 * np.array(found[name]).T
        axes.plot(found["sizes"], middle, "o-", color=color, label=label, clip_on=False)
        axes.fill_between(found["sizes"], low, high, color=color, alpha=0.25, lw=0)
    axes.set(xscale="log", xlabel="texts in the batch", ylabel="relative change, %", ylim=(0, None))
    axes.set_xticks(found["sizes"], found["sizes"])
    axes.minorticks_off()
    axes.legend()
    return figure


def says(found):
    return [f"{100 * found['batch'][found['sizes'].index(size)][1]:.0f} %" for size in (2, 32, 128)]
