"""Why the scores of attention are divided by sqrt(d_k): the largest weight of a softmax, by the width of the keys."""

import numpy as np
import shared

WIDTHS, KEYS, DRAWS = (4, 8, 16, 32, 64, 128, 256, 512, 1024), 32, 400


def measure():
    draw = np.random.default_rng(0)
    found = {"keys": KEYS, "draws": DRAWS, "widths": list(WIDTHS), "plain": [], "divided": [], "slope": {}}
    slopes = {"plain": [], "divided": []}
    for width in WIDTHS:
        query = draw.normal(size=(DRAWS, 1, width))
        keys = draw.normal(size=(DRAWS, KEYS, width))
        scores = (query * keys).sum(-1)
        for name, factor in (("plain", 1.0), ("divided", width**-0.5)):
            weights = softmax(scores * factor)
            found[name].append(np.quantile(weights.max(-1), (0.25, 0.5, 0.75)).round(4).tolist())
            # How much the weights still answer to the scores: the trace of diag(a) - a a^T.
            slopes[name].append(float((1 - (weights**2).sum(-1)).mean().round(4)))
    return found | {"slope": slopes}


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def draw(found):
    figure, axes = shared.axes_of(f"Largest of {found['keys']} weights (median, middle half)")
    for name, label, color in (("plain", "q · k", shared.RED), ("divided", "q · k / √d", shared.BLUE)):
        low, middle, high = np.array(found[name]).T
        axes.plot(found["widths"], middle, "o-", color=color, label=label)
        axes.fill_between(found["widths"], low, high, color=color, alpha=0.25, lw=0)
    axes.set(xscale="log", xlabel="width of the keys, d", ylabel="largest weight", ylim=(0, 1.02))
    axes.set_xticks(found["widths"][::2], found["widths"][::2])
    axes.minorticks_off()
    axes.legend(loc="center right")
    return figure


def says(found):
    at = found["widths"].index(64)
    return [f"{found['plain'][at][1]:.2f}", f"{found['divided'][at][1]:.2f}", f"{found['slope']['plain'][-1]:.2f}"]
