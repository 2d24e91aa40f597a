"""Product-key memory: the exact search, what it holds beside a feed-forward network, and how many values are used.

A model learns n random vectors of 32 numbers by heart, each with a random label of 64: by a memory of 16,384 values
(two heads that read 8 each), with and without batch norm of the queries, or by a feed-forward network whose
multiplications are as many.
"""

from functools import partial

import keras
import numpy as np
from keras import layers, ops

from zoo.feedforward import FeedForward, ProductKeyMemory
from zoo.feedforward.product_key import memory_usage
from zoo.reproduce import findings
from zoo.reproduce.findings import claim, is_above, plus_minus
from zoo.reproduce.trials import Trainer, keep
from zoo.training import RowAdam

FULL = {"pairs": 4000, "updates": 400, "seeds": 3, "num_keys": 128}
QUICK = {"pairs": 100, "updates": 3, "seeds": 2, "num_keys": 16}
UNITS, LABELS, BATCH, HEADS, K = 32, 64, 256, 2, 8


def make_memory(num_keys, norm):
    return ProductKeyMemory(UNITS, num_keys, HEADS, K, 32, norm, seed=1)


def multiplications(inner):
    """The number of multiplications for a position: those of a memory are for queries, half-keys, sums and values."""
    if isinstance(inner, FeedForward):
        return 2 * inner.units * inner.hidden_units
    half = 2 * inner.num_keys * inner.query_dim // 2
    return inner.num_heads * (UNITS * inner.query_dim + half + inner.k * inner.units)


def make_feedforward(num_keys):
    """A feed-forward layer with as many multiplications as a memory."""
    return FeedForward(UNITS, multiplications(make_memory(num_keys, None)) // (2 * UNITS))


def make_learner(make, num_keys):
    inputs, inner = keras.Input((1, UNITS), name="x"), make(num_keys)  # before the last layer draws its seed
    return keras.Model({"x": inputs}, layers.Dense(LABELS, name="labels")(inner(inputs)))


LAYERS = {
    "memory": lambda num_keys: make_memory(num_keys, None),
    "memory, batch norm": lambda num_keys: make_memory(num_keys, "batch"),
    "feed-forward": make_feedforward,
}


def make_pairs(count):
    random = np.random.default_rng(count)
    vectors = random.normal(size=(count, 1, UNITS)).astype("float32")
    return vectors, random.integers(0, LABELS, (count, 1)).astype("int32")


def make_batch(x, labels, *seed):
    rows = np.random.default_rng(seed).integers(0, len(x), BATCH)
    return {"x": x[rows], "labels": labels[rows], "weights": np.ones((BATCH, 1), "float32")}


def compare_search(num_keys, queries=200):
    """For how many queries the product search finds the k best of all `num_keys^2` keys, as a full search does."""
    layer = make_memory(num_keys, None)
    layer.build((None, None, UNITS))
    x = np.random.default_rng(0).normal(size=(1, queries, UNITS)).astype("float32")
    chosen = ops.convert_to_numpy(layer.select(x)[0])[0]
    first, second = (ops.convert_to_numpy(half)[0].astype("float64") for half in layer.half_scores(layer.queries(x)))
    sums = (first[..., :, None] + second[..., None, :]).reshape(queries, HEADS, -1)
    best = np.argsort(-sums, axis=-1)[..., :K]
    same = (np.sort(best, -1) == np.sort(chosen, -1)).all((-1, -2)).sum()
    return {"queries": queries, "same": int(same), "keys": num_keys**2, "looked at": 2 * num_keys + K**2}


def measure(log, pairs, updates, seeds, num_keys):
    x, labels = make_pairs(pairs)
    facts = {"seeds": list(range(seeds)), "pairs": pairs, "search": compare_search(num_keys), "products": {}}
    for name, make in LAYERS.items():
        trainer = Trainer(partial(make_learner, make, num_keys), RowAdam(2e-3, 1e-2))
        inner = trainer.model.layers[1]
        facts["products"][name] = multiplications(inner)
        for _ in trainer.train_each(facts["seeds"], partial(make_batch, x, labels), updates):
            known = np.mean([trainer.right(each).mean() for each in split_pairs(x, labels)])
            keep(facts, name, known=round(float(known), 4), weights=trainer.hash())
            if name.startswith("memory"):
                weights = ops.convert_to_numpy(inner.value_weights(x))
                usage, shares = memory_usage(weights), np.sort(weights / weights.sum())[::-1] * len(weights)
                keep(facts, name, usage=round(usage["usage"], 4), kl=round(usage["kl"], 4))
                keep(facts, name, sorted=shares[:: len(shares) // 64].round(5).tolist())
        log(f"{name} knows {facts['known'][name]}")
    return facts


def split_pairs(x, labels):
    """All pairs in batches of one size."""
    for at in range(0, len(x) - len(x) % min(1000, len(x)), min(1000, len(x))):
        rows = slice(at, at + min(1000, len(x)))
        yield {"x": x[rows], "labels": labels[rows]}


def claims(facts):
    seeds, search = facts["seeds"], facts["search"]
    known = {name: 100 * np.array(rows) for name, rows in facts["known"].items()}
    usage = {name: 100 * np.array(rows) for name, rows in facts["usage"].items()}
    plain, normed = "memory", "memory, batch norm"
    return [
        claim(
            "The product search finds exactly the k best of all |K| keys, at a cost of sqrt|K| + k² instead of |K| "
            "(Lample et al. 2019, section 3.2).",
            f"Of {search['queries']} queries {search['same']} have the {K} best of all {search['keys']:,} keys; "
            f"{search['looked at']} scores were computed for each.",
            search["same"] == search["queries"],
        ),
        claim(
            "A memory adds capacity at nearly no cost: 12 layers with one memory have a perplexity of 15.6, 24 layers "
            "without one 16.0 (Lample et al. 2019, table 1).",
            f"Of {facts['pairs']:,} random pairs a memory knows {plus_minus(known[plain], '{:.1f}')} % by heart, and a "
            f"feed-forward network with as many multiplications ({facts['products']['feed-forward']:,}) "
            f"{plus_minus(known['feed-forward'], '{:.1f}')} %.",
            is_above(known[plain], known["feed-forward"]),
            seeds,
        ),
        claim(
            "Batch norm of the queries makes more values used: 97.9 % against 64.4 % of 262 thousand, with a better "
            "perplexity; of 16 thousand all are used without it (Lample et al. 2019, table 2).",
            f"Of {search['keys']:,} values {plus_minus(usage[normed], '{:.1f}')} % are used with batch norm and "
            f"{plus_minus(usage[plain], '{:.1f}')} % without; the KL from equal use is "
            f"{plus_minus(facts['kl'][normed], '{:.2f}')} and {plus_minus(facts['kl'][plain], '{:.2f}')} nats.",
            is_above(usage[normed], usage[plain]),
            seeds,
        ),
    ]


def draw(facts):
    figure, (axes, below) = findings.panels(
        f"Known by heart, of {facts['pairs']:,} pairs", "How much each value is used"
    )
    looks = zip(facts["known"].items(), (findings.BLUE, findings.GREEN, findings.GREY), strict=True)
    for place, ((_, values), color) in enumerate(looks):
        findings.points(axes, place, 100 * np.array(values), color)
    axes.set_xticks(range(3), [name.replace(", ", ",\n") for name in facts["known"]])
    axes.set(ylabel="%, one point a seed", ylim=(0, 105), xlim=(-0.5, 2.5))
    for (name, rows), color in zip(facts["sorted"].items(), (findings.BLUE, findings.GREEN), strict=True):
        x = np.linspace(0, 100, len(rows[0]))
        style = "--" if "norm" in name else "-"
        findings.line(below, x, np.maximum(rows, 1e-4), name, color, log=True, ls=style)
    below.axhline(1, color=findings.GREY, lw=0.8, ls=":")
    below.set(yscale="log", ylim=(1e-4, 100), xlabel="% of the values, most used first", ylabel="share / equal share")
    below.legend(loc="lower left")
    return figure
