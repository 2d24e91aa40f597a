"""SimpleRNN, GRU and LSTM: their numbers of weights, and the first symbol of a text recalled at its end.

A text has one of 8 symbols, then noise of 8 others; the model, 32 units wide, is to say at the end which symbol was the
first. A SimpleRNN of Keras begins with an orthogonal matrix, which keeps lengths; the papers' plain networks began with
small random numbers, which do not, so there are both.
"""

from functools import partial

import keras
import numpy as np
from keras import layers

from zoo.recurrent.cells import make_layer
from zoo.reproduce import findings
from zoo.reproduce.findings import bin_means, claim, is_above, plus_minus
from zoo.reproduce.trials import Trainer, adam, keep

FULL = {"updates": 2500, "lag": 20, "seeds": 3}
QUICK = {"updates": 4, "lag": 3, "seeds": 2}
CELLS = {
    "SimpleRNN": ("simple_rnn", {"recurrent_initializer": "glorot_uniform"}),
    "SimpleRNN, orthogonal": ("simple_rnn", {}),
    "GRU": ("gru", {}),
    "LSTM": ("lstm", {}),
}
# The numbers of weights by the formulas, for 4 inputs and 5 units.
EXPECTED_WEIGHTS = {"simple_rnn": 50, "gru_reset_before": 150, "gru": 165, "lstm": 200}
SYMBOLS, UNITS, BATCH, TESTS = 8, 32, 64, 1000
RECALLED, BINS = 0.95, 40


def count_weights(cell, inputs=4, units=5):
    layer = make_layer(cell, units)
    layer.build((None, None, inputs))
    return layer.count_params()


def make_reader(cell, settings):
    """Ids `(batch, time)` -> logits of the first symbol, `(batch, 8)`."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    states = make_layer(cell, UNITS, **settings)(layers.Embedding(2 * SYMBOLS, UNITS)(ids))
    return keras.Model({"ids": ids}, layers.Dense(SYMBOLS)(states))


def make_examples(count, lag, *seed):
    random = np.random.default_rng(seed)
    ids = random.integers(SYMBOLS, 2 * SYMBOLS, (count, lag + 1)).astype("int32")
    ids[:, 0] = random.integers(0, SYMBOLS, count)
    return {"ids": ids, "labels": ids[:, 0], "weights": np.ones(count, "float32")}


def measure(log, updates, lag, seeds):
    facts = {"counts": {cell: count_weights(cell) for cell in EXPECTED_WEIGHTS}, "lag": lag}
    facts |= {"seeds": list(range(seeds)), "updates": updates}
    tests = make_examples(TESTS, lag, 99)
    for name, (cell, settings) in CELLS.items():
        trainer = Trainer(partial(make_reader, cell, settings), adam(5e-3, updates))
        for losses in trainer.train_each(facts["seeds"], partial(make_examples, BATCH, lag), updates):
            recalled = round(float(trainer.right(tests).mean()), 4)
            keep(facts, name, recalled=recalled, curves=bin_means(losses, BINS), weights=trainer.hash())
        log(f"{name} recalls {facts['recalled'][name]} of what was {lag} symbols back")
    return facts


def claims(facts):
    lag, seeds = facts["lag"], facts["seeds"]
    recalled = {name: 100 * np.array(rows) for name, rows in facts["recalled"].items()}
    means = {name: plus_minus(rows, "{:.1f}") for name, rows in recalled.items()}
    counts = ", ".join(str(facts["counts"][cell]) for cell in EXPECTED_WEIGHTS)
    return [
        claim(
            "A gate is one more recurrence: with n inputs and m units a plain one has m(m+n)+m weights, a GRU 3 and an "
            "LSTM 4 times as many (Cho et al. 2014, equations 5 to 8; Hochreiter and Schmidhuber 1997); cuDNN's form "
            "of the GRU has 3m biases more.",
            f"With n = 4 and m = 5 the layers have {counts} weights (SimpleRNN, GRU, GRU of cuDNN's form, LSTM); the "
            f"formulas say {', '.join(map(str, EXPECTED_WEIGHTS.values()))}.",
            facts["counts"] == EXPECTED_WEIGHTS,
        ),
        claim(
            "LSTM bridges long time lags that plain recurrent networks do not learn (Hochreiter and Schmidhuber 1997, "
            "abstract and section 5).",
            f"Of what was {lag} symbols back LSTM recalls {means['LSTM']} % and a SimpleRNN that begins with small "
            f"random weights {means['SimpleRNN']} %; guessing has {100 / SYMBOLS:.1f} %. One that begins with an "
            f"orthogonal matrix, as in Keras, recalls {means['SimpleRNN, orthogonal']} %.",
            is_above(recalled["LSTM"], recalled["SimpleRNN"]) and min(recalled["LSTM"]) > 100 * RECALLED,
            seeds,
        ),
        claim(
            "GRU is as good as LSTM, and both are better than tanh units (Chung et al. 2014, abstract and table 2).",
            f"GRU recalls {means['GRU']} % of what was {lag} symbols back: LSTM minus GRU is "
            f"{plus_minus(recalled['LSTM'] - recalled['GRU'], '{:.1f}')} points, GRU minus SimpleRNN "
            f"{plus_minus(recalled['GRU'] - recalled['SimpleRNN'], '{:.1f}')}.",
            not is_above(recalled["LSTM"], recalled["GRU"]) and is_above(recalled["GRU"], recalled["SimpleRNN"]),
            seeds,
        ),
    ]


def draw(facts):
    figure, (axes,) = findings.panels(f"Recalling a symbol {facts['lag']} symbols later")
    looks = ((findings.GREY, "-"), (findings.GREY, "--"), (findings.BLUE, "-"), (findings.RED, "-"))
    for (name, rows), (color, style) in zip(facts["curves"].items(), looks, strict=True):
        x = facts["updates"] / len(rows[0]) * (np.arange(len(rows[0])) + 0.5)
        for index, row in enumerate(rows):
            axes.plot(x, row, color=color, ls=style, lw=1.3, label=None if index else name)
    axes.axhline(np.log(SYMBOLS), color="black", lw=0.8, ls=":")
    axes.text(facts["updates"], np.log(SYMBOLS) + 0.05, "guessing", ha="right")
    axes.set(xlabel="updates; a line is a seed", ylabel="loss, nats", ylim=(0, 3.6), xlim=(0, None))
    axes.legend(loc="upper left", ncols=2, columnspacing=0.8)
    return figure
