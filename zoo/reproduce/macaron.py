"""Macaron Net: its numbers of weights, the order of the splitting that it is named after, and a training beside pre-LN.

The splitting is asked of linear flows, x' = (F + G) x, whose exact solution is a matrix exponential; F stands for
attention, G for the feed-forward layers. A network takes Euler steps, x + F x, where the formula has exact flows. The
training is on chains of pointers (`zoo.reproduce.trials.draw_pointers`): two blocks of 48 units, as many weights in
both.
"""

from functools import partial

import numpy as np

from zoo.depth import make_stack
from zoo.models import Tagger
from zoo.reproduce import findings, trials
from zoo.reproduce.findings import claim, is_above, plus_minus, slope
from zoo.reproduce.trials import Trainer, adam, keep

FULL = {"updates": 400, "seeds": 5, "theory_seeds": 5}
QUICK = {"updates": 3, "seeds": 2, "theory_seeds": 2}
LETTERS, REACH, TIME, BATCH, TESTS, UNITS, HIDDEN = 8, 3, 12, 64, 1000, 48, 192
STEPS = (0.2, 0.1, 0.05, 0.025)
WIRINGS = {"pre-LN": "pre_norm", "Macaron": "macaron"}


def make_tagger(wiring):
    stack = make_stack(2, UNITS, 4, HIDDEN, wiring, dropout=0.0)  # which halves it for Macaron
    return Tagger(trials.FIRST + LETTERS + REACH, LETTERS, stack, dropout=0.0)


def matrix_exponential(matrix):
    """`exp(matrix)` by its series, for matrices of a norm below 1."""
    total = term = np.eye(len(matrix))
    for order in range(1, 25):
        term = term @ matrix / order
        total = total + term
    return total


def local_errors(seed, size=6):
    """The local error of each way to take one step of `h`, for each `h` of `STEPS`."""
    random = np.random.default_rng(seed)
    first, second = (random.normal(size=(size, size)) / size**0.5 for _ in range(2))
    errors = {"Lie, exact": [], "Strang, exact": [], "Lie, Euler": [], "Strang, Euler": []}
    for h in STEPS:
        exact = matrix_exponential(h * (first + second))
        for name, flow in (("exact", matrix_exponential), ("Euler", lambda matrix: np.eye(size) + matrix)):
            half = flow(h / 2 * second)
            errors[f"Lie, {name}"].append(np.abs(flow(h * second) @ flow(h * first) - exact).max())
            errors[f"Strang, {name}"].append(np.abs(half @ flow(h * first) @ half - exact).max())
    return {name: [float(f"{error:.4g}") for error in row] for name, row in errors.items()}


def count_weights():
    """Of a block of each wiring, at the sizes of the paper's base model with the feed-forward layers halved."""
    counts = {}
    for name, wiring in WIRINGS.items():
        stack = make_stack(1, 512, 8, 2048, wiring)
        stack.build((None, None, 512))
        counts[name] = stack.count_params()
    return counts


def measure(log, updates, seeds, theory_seeds):
    facts = {"seeds": list(range(seeds)), "theory_seeds": list(range(theory_seeds)), "parameters": count_weights()}
    facts |= {"errors": [local_errors(seed) for seed in facts["theory_seeds"]], "trained": {}}
    tokens, labels, _ = trials.draw_pointers(np.random.default_rng(99), TESTS, TIME, LETTERS, REACH)
    for name, wiring in WIRINGS.items():
        trainer = Trainer(partial(make_tagger, wiring), adam(2e-3, updates))
        facts["trained"][name] = trainer.model.count_params()
        for losses in trainer.train_each(facts["seeds"], make_batch, updates):
            loss, right = losses[-20:].mean(), trainer.right(trials.make_tag_batch(tokens, labels)).mean()
            keep(facts, name, loss=round(float(loss), 4), right=round(float(right), 4), weights=trainer.hash())
        log(f"{name}: right {facts['right'][name]}")
    return facts


def make_batch(seed, step):
    tokens, labels, _ = trials.draw_pointers(np.random.default_rng([seed, step]), BATCH, TIME, LETTERS, REACH)
    return trials.make_tag_batch(tokens, labels)


def claims(facts):
    orders = {name: [slope(STEPS, row[name]) for row in facts["errors"]] for name in facts["errors"][0]}
    means = {name: plus_minus(values, "{:.2f}") for name, values in orders.items()}
    parameters, right = facts["parameters"], {name: 100 * np.array(rows) for name, rows in facts["right"].items()}
    more = parameters["Macaron"] - parameters["pre-LN"]
    return [
        claim(
            "The splitting of Strang and Marchuk has a local error of third order, that of Lie and Trotter one of "
            "second (Lu et al. 2019, section 3.2).",
            f"With exact flows the error of one step falls with the power {means['Strang, exact']} of its length, and "
            f"for Lie and Trotter with {means['Lie, exact']}.",
            abs(np.mean(orders["Strang, exact"]) - 3) < 0.2 and abs(np.mean(orders["Lie, exact"]) - 2) < 0.2,
            facts["theory_seeds"],
        ),
        claim(
            "So the Macaron network, which follows Strang and Marchuk, is the more accurate solver: third order "
            "instead of second (Lu et al. 2019, sections 3.2 and 3.3).",
            "A network takes Euler steps, x + F(x), instead of exact flows; with them the error falls with the power "
            f"{means['Strang, Euler']}, and with the usual order of the layers with {means['Lie, Euler']}.",
            np.mean(orders["Strang, Euler"]) > 2.5,
            facts["theory_seeds"],
        ),
        claim(
            "With two feed-forward layers of half the width a block has as many weights as the Transformer's "
            "(Lu et al. 2019, section 4).",
            f"A stack of one block of 512 units has {parameters['pre-LN']:,} weights and as a Macaron "
            f"{parameters['Macaron']:,}: {more:,} more ({100 * more / parameters['pre-LN']:.2f} %), those of one norm "
            "and one bias.",
            more == 3 * 512,
        ),
        claim(
            "Macaron is better than the Transformer with as many weights: 35.4 BLEU against 34.4 on IWSLT14, 28.9 "
            "against 27.3 on WMT14 (Lu et al. 2019, tables 1 and 2).",
            f"On chains of pointers Macaron has {plus_minus(right['Macaron'], '{:.2f}')} % of the labels right and "
            f"pre-LN {plus_minus(right['pre-LN'], '{:.2f}')} %; the difference is "
            f"{plus_minus(right['Macaron'] - right['pre-LN'], '{:.2f}')} points.",
            is_above(right["Macaron"], right["pre-LN"]),
            facts["seeds"],
        ),
    ]


def draw(facts):
    figure, (axes, below) = findings.panels("Local error of one step, of linear flows", "Labels right, every seed")
    looks = {
        "Lie, exact": (findings.GREY, "o-"),
        "Strang, exact": (findings.BLUE, "o-"),
        "Lie, Euler": (findings.GREY, "s--"),
        "Strang, Euler": (findings.RED, "s--"),
    }
    for name, (color, style) in looks.items():
        rows = np.array([row[name] for row in facts["errors"]])
        findings.line(axes, STEPS, rows, name, color, log=True, marker=style[0], ls=style[1:])
    axes.set(xscale="log", yscale="log", xlabel="length of the step", ylabel="error")
    axes.set_xticks(STEPS, [f"{h:g}" for h in STEPS])
    axes.minorticks_off()
    axes.legend(loc="upper left", ncols=2, columnspacing=0.8)
    axes.set_ylim(None, 30 * axes.get_ylim()[1])
    for place, (name, color) in enumerate(zip(WIRINGS, (findings.GREY, findings.BLUE), strict=True)):
        findings.points(below, place, 100 * np.array(facts["right"][name]), color)
    below.set_xticks(range(len(WIRINGS)), WIRINGS)
    below.set(ylabel="%", ylim=(0, 105), xlim=(-0.5, len(WIRINGS) - 0.5))
    return figure
