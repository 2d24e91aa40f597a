"""Beam width against length: how long the best hypothesis is that a search of a given width finds."""

import numpy as np
import shared

SEEDS, UPDATES, BATCH, TESTS, LENGTH, SYMBOLS, FIRST, CUT = 3, 500, 64, 200, 12, 6, 4, 0.05
SEARCHES = {"by probability": (0.0, (1, 2, 4, 16)), "length penalty, α = 1": (1.0, (4, 16))}


def batch(step, count=BATCH, cut=CUT):
    """Each of 12 symbols is to be written in one of two ways, at random; of one text in twenty only the end is."""
    draw = np.random.default_rng([5, step])
    ids = draw.integers(0, SYMBOLS, (count, LENGTH))
    labels = np.pad(FIRST + 2 * ids + draw.integers(0, 2, ids.shape), ((0, 0), (0, 1)), constant_values=3)
    lengths = np.where(draw.random(count) < cut, 0, LENGTH)
    labels[np.arange(count), lengths] = 3
    weights = np.arange(LENGTH + 1) <= lengths[:, None]
    return {
        "source_ids": (FIRST + ids).astype("int32"),
        "source_lengths": np.full(count, LENGTH, "int32"),
        "target_ids": np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=2).astype("int32"),
        "labels": labels.astype("int32"),
        "weights": weights.astype("float32"),
    }


def make():
    from zoo.models import Seq2Seq

    return Seq2Seq(FIRST + SYMBOLS, FIRST + 2 * SYMBOLS, units=32)


def measure():
    """The mean length of what is written, and the share of empty texts; a row a seed."""
    from zoo.tasks.parts.answering import Searcher

    trainer, asked = shared.trainer(make), batch(10**6, TESTS)
    inputs = asked["source_ids"], asked["source_lengths"]
    searchers = {
        (name, beams): Searcher(trainer.model, beams, alpha, LENGTH + 2)
        for name, (alpha, widths) in SEARCHES.items()
        for beams in widths
    }
    lengths = {name: [[] for _ in range(SEEDS)] for name in SEARCHES}
    empty = {name: [[] for _ in range(SEEDS)] for name in SEARCHES}
    for searcher in searchers.values():
        searcher.compile(jit_compile=True)
    for seed in range(SEEDS):
        trainer.train(seed, batch, UPDATES)
        for (name, _), searcher in searchers.items():
            found = np.asarray(searcher.predict_on_batch(inputs)[1])
            lengths[name][seed].append(round(float(found.mean()), 3))
            empty[name][seed].append(round(100 * float((found == 0).mean()), 2))
    return {"seeds": SEEDS, "updates": UPDATES, "lengths": lengths, "empty": empty}


def draw(found):
    figure, axes = shared.axes_of("Length of what is written, by the width of the beam")
    looks = zip(found["lengths"].items(), (shared.RED, shared.BLUE), ("o-", "s--"), strict=True)
    for (name, rows), color, style in looks:
        widths = SEARCHES[name][1]
        for seed, row in enumerate(rows):
            shift = 1 + 0.05 * (seed - 1)  # seeds of the same length stay apart
            axes.plot(np.array(widths) * shift, row, style, color=color, alpha=0.8, label=None if seed else name)
    axes.axhline(LENGTH, color=shared.GREY, lw=0.8, ls=":")
    axes.text(16, LENGTH + 0.3, "right", color=shared.GREY, ha="right")
    axes.set(xscale="log", xlabel="beams; a line is a seed", ylabel="symbols", ylim=(-0.3, LENGTH + 3))
    axes.set_xticks(SEARCHES["by probability"][1], [str(width) for width in SEARCHES["by probability"][1]])
    axes.minorticks_off()
    axes.legend(loc="center", bbox_to_anchor=(0.53, 0.22))
    return figure


def says(found):
    plain = np.mean(found["lengths"]["by probability"], axis=0)
    held = np.mean(found["lengths"]["length penalty, α = 1"], axis=0)
    return [f"{plain[0]:.1f}", f"{plain[-1]:.1f}", f"{held[-1]:.1f}"]
