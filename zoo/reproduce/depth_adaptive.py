"""Depth-Adaptive Transformer: at which depth a token leaves, by its difficulty and by the settings of the oracle.

A source is 10 tokens: letters, and pointers to one of the three places to their right; what is to be written for a
pointer is the label of where it points, maybe a pointer again. One block in the encoder, 3 in the decoder, 48 units. A
model learns all depths; then the geometric-like rule goes on from it with both losses, for each lambda (the price of a
layer, in nats) and each sigma (the width of the kernel), by the likelihood oracle. Scores are of a pass that is given
the right text.
"""

from functools import partial

import keras
import numpy as np
from keras import ops

from zoo.depth import GeometricExit, MultinomialExit, make_depth_adaptive_stack, make_stack
from zoo.models import DepthAdaptiveTransformer
from zoo.reproduce import findings, trials
from zoo.reproduce.findings import claim, is_above, plus_minus
from zoo.reproduce.trials import Trainer, adam, keep
from zoo.text.base import BOS
from zoo.training import DepthAdaptiveLoss
from zoo.training.steps import model_inputs

FULL = {"updates": 1500, "exit_updates": 200, "seeds": 3, "units": 48}
QUICK = {"updates": 2, "exit_updates": 2, "seeds": 2, "units": 8}
LAYERS, LETTERS, POINTERS, TIME, BATCH, TESTS, HOPS = 3, 8, 3, 10, 32, 400, 3
PRICES, WIDTHS, PRICE = (0.01, 0.1, 0.3), (0.0, 8.0), 0.1  # PRICE is that of the sweep over sigma
SWEEPS = {**{f"lambda {price:g}": (price, 0.0) for price in PRICES}, f"sigma {WIDTHS[1]:g}": (PRICE, WIDTHS[1])}


def make_examples(random, count):
    """A batch of `trials.draw_pointers`, read from right to left, and the hops of each token."""
    tokens, labels, hops = (side[:, ::-1] for side in trials.draw_pointers(random, count, TIME, LETTERS, POINTERS, 0.5))
    labels = labels + trials.FIRST
    batch = {
        "source_ids": tokens,
        "source_lengths": np.full(count, TIME),
        "target_ids": np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=BOS),
        "labels": labels,
    }
    batch = {name: np.ascontiguousarray(value, "int32") for name, value in batch.items()}
    return {**batch, "weights": np.ones((count, TIME), "float32")}, np.minimum(hops, HOPS)


def make_batch(*seed):
    return make_examples(np.random.default_rng(seed), BATCH)[0]


def make_exit_model(base):
    """The model of a trainer, with its present weights and a new rule of exit."""
    return base.model.with_exit(GeometricExit(LAYERS))


def make_model(units):
    sizes = {"units": units, "num_heads": 4, "hidden_units": 2 * units, "dropout": 0.0}
    words = trials.FIRST + LETTERS + POINTERS
    decoder = make_depth_adaptive_stack(LAYERS, **sizes)
    return DepthAdaptiveTransformer(words, words, make_stack(1, **sizes), decoder, dropout=0.0)


def sum_errors():
    """`{rule: largest distance of the sum of its probabilities from 1}`, for random states."""
    states = [ops.convert_to_tensor(x) for x in np.random.default_rng(0).normal(size=(LAYERS, 2, 7, 16))]
    errors = {}
    for name, rule in (("geometric-like", GeometricExit(LAYERS)), ("multinomial", MultinomialExit(LAYERS))):
        keras.utils.set_random_seed(0)
        rule.build((None, None, 16))
        states = [ops.cast(state, "float32") for state in states]
        sums = ops.convert_to_numpy(ops.sum(ops.exp(rule.log_chances(states)), axis=-1))
        errors[name] = float(np.abs(sums - 1).max())
    return errors


def measure_exits(trainer, batch, hops):
    """`{"exit", "right", "by hops"}`: the average exit, the share of right labels, and the average exit by hops."""
    right = trainer.right(batch)
    exits = ops.convert_to_numpy(trainer.model.think(model_inputs(batch))["exits"])
    by_hops = [round(float(exits[hops == hop].mean()), 3) for hop in range(HOPS + 1)]
    return {"exit": round(float(exits.mean()), 4), "right": round(float(right.mean()), 4), "by hops": by_hops}


def measure(log, updates, exit_updates, seeds, units):
    facts = {"seeds": list(range(seeds)), "chances": sum_errors(), "fixed": []}
    base = Trainer(partial(make_model, units), adam(2e-3, updates), DepthAdaptiveLoss())
    trainers = {}
    for name, (price, width) in SWEEPS.items():
        loss = DepthAdaptiveLoss("likelihood", price, width, alpha=1.0)
        trainers[name] = Trainer(partial(make_exit_model, base), adam(5e-4, exit_updates), loss)
    test, hops = make_examples(np.random.default_rng(99), TESTS)
    for seed in facts["seeds"]:
        base.train(seed, partial(make_batch, seed, 0), updates)
        logits = ops.convert_to_numpy(base.model.depth_logits(model_inputs(test)))
        facts["fixed"].append(
            [round(float(share), 4) for share in (logits.argmax(-1) == test["labels"][:, None]).mean((0, 2))]
        )
        keep(facts, "all depths", weights=base.hash())
        for name, trainer in trainers.items():
            trainer.train(seed, partial(make_batch, seed, 1), exit_updates)
            keep(facts, name, taught=measure_exits(trainer, test, hops), weights=trainer.hash())
        log(f"seed {seed}: exits {[(name, rows[-1]['exit']) for name, rows in facts['taught'].items()]}")
    return facts


def claims(facts):
    exits = {name: np.array([row["exit"] for row in rows]) for name, rows in facts["taught"].items()}
    right = {name: 100 * np.array([row["right"] for row in rows]) for name, rows in facts["taught"].items()}
    cheap, middle, dear, wide = SWEEPS
    by_hops = np.array([row["by hops"] for row in facts["taught"][cheap]])
    full_depth, seeds = 100 * np.array(facts["fixed"])[:, -1], facts["seeds"]
    means = {name: plus_minus(rows, "{:.2f}") for name, rows in exits.items()}
    return [
        claim(
            "Easy tokens leave early: a few layers give the quality of all of them, 34.7 BLEU at an average exit of "
            "1.42 of 6 (Elbayad et al. 2020, section 4.2 and table 1).",
            f"At lambda {PRICES[0]:g} tokens leave after {means[cheap]} of {LAYERS} layers with "
            f"{plus_minus(right[cheap], '{:.1f}')} % of the labels right, against {plus_minus(full_depth, '{:.1f}')} % "
            f"of all layers. Letters leave after {plus_minus(by_hops[:, 0], '{:.2f}')}, pointers of one hop after "
            f"{plus_minus(by_hops[:, 1], '{:.2f}')} and of {HOPS} or more after "
            f"{plus_minus(by_hops[:, -1], '{:.2f}')}.",
            is_above(by_hops[:, 1], by_hops[:, 0])
            and is_above(by_hops[:, -1], by_hops[:, 1])
            and (full_depth - right[cheap]).mean() < 1,
            seeds,
        ),
        claim(
            "The larger the price lambda of a layer, the earlier tokens leave (Elbayad et al. 2020, figure 4a).",
            f"The average exit is {means[cheap]} at {cheap}, {means[middle]} at {PRICE:g} and {means[dear]} at "
            f"{PRICES[-1]:g}.",
            is_above(exits[cheap], exits[middle]) and is_above(exits[middle], exits[dear]),
            seeds,
        ),
        claim(
            "The wider the kernel sigma over a token's neighbours, the later tokens leave (Elbayad et al. 2020, figure "
            "4b).",
            f"At lambda {PRICE:g} the average exit is {means[middle]} without a kernel and {means[wide]} with {wide}.",
            is_above(exits[wide], exits[middle]),
            seeds,
        ),
        claim(
            "Both rules over tokens are distributions over the depths (Elbayad et al. 2020, section 3.2).",
            f"The probabilities sum to 1 to within {max(facts['chances'].values()):.1g}.",
            max(facts["chances"].values()) < 1e-5,
        ),
    ]


def draw(facts):
    figure, (axes, below) = findings.panels("Average exit, by the hops of a token", "Labels right, by the layers used")
    colors = (findings.BLUE, findings.GREEN, findings.RED, findings.YELLOW)
    names = [*(f"λ = {price:g}" for price in PRICES), f"λ = {PRICE:g}, σ = {WIDTHS[1]:g}"]
    for (key, rows), name, color in zip(facts["taught"].items(), names, colors, strict=True):
        by_hops = np.array([row["by hops"] for row in rows])
        findings.line(axes, range(HOPS + 1), by_hops, name, color, marker="o", ls="--" if "sigma" in key else "-")
        exits, right = ([row[part] for row in rows] for part in ("exit", "right"))
        below.plot(exits, 100 * np.array(right), "o", color=color, alpha=0.8, label=name)
    axes.set_xticks(range(HOPS + 1), [*map(str, range(HOPS)), f"{HOPS} or more"])
    axes.set(xlabel="hops; bands are 95 % intervals", ylabel=f"layer of {LAYERS}", ylim=(0.9, 5.6))
    axes.set_yticks(range(1, LAYERS + 1))
    axes.legend(loc="upper left", ncols=2, columnspacing=0.8)
    fixed = np.array(facts["fixed"])
    findings.line(below, range(1, LAYERS + 1), 100 * fixed, "all tokens at one depth", findings.GREY, marker="s")
    below.set(xlabel="average exit", ylabel="%", ylim=(0, 105))
    below.set_xticks(range(1, LAYERS + 1))
    below.legend(loc="lower right", handles=below.get_lines()[-1:])
    return figure
