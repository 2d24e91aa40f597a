"""Product-key memory: what a lookup and an update cost as values grow, how much it holds, and what normalisation does.

    python benchmarks/product_key_memory.py            # writes benchmarks/results/product_key_memory.json, the figure
    KERAS_BACKEND=tensorflow python benchmarks/product_key_memory.py    # the update alone, on TensorFlow
    python benchmarks/product_key_memory.py --quick    # small sizes; writes nothing

Lookup: 256 positions of 256 units, 4 heads, k = 32, queries of 256, one thread, up to 2^20 values; beside it, scoring
all keys. Update: of values of 128 units, 8,192 reads of random rows: RowAdam (those rows) and Adam (all rows).
Capacity: n random vectors of 32 numbers, each with a random label of 64; a memory of 16,384 values and a feed-forward
network whose products are as many learn them by heart. Usage: those memories, with and without batch norm.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from harness.report import table
from keras import ops
from timing import compared, measure, write

from zoo.core.protocols import Weight
from zoo.feedforward import FeedForward, ProductKeyMemory
from zoo.feedforward.product_key import memory_usage
from zoo.reproduce.product_key import UNITS, batch, labeller, pairs, products
from zoo.training import RowAdam, SmoothedCrossEntropy, make_steps
from zoo.training.steps.optimizers import RowGradient

FIGURE = Path(__file__).parents[1] / "docs" / "zoo" / "figures" / "product-key-memory.png"


def ready(values):
    """Wait for what a backend has only promised."""
    return [np.asarray(ops.convert_to_numpy(value)).ravel()[:1] for value in values]


def compiled(function, *arguments):
    if keras.backend.backend() == "jax":
        import jax

        run = jax.jit(function)
    else:
        import tensorflow as tf

        run = tf.function(function, jit_compile=True)
    return lambda: ready([run(*arguments)])


def lookup_row(num_keys, positions, rounds, least):
    """Milliseconds of a lookup among `num_keys^2` values, and of scoring every key."""
    memory = ProductKeyMemory(256, num_keys, 4, 32, 256, "layer", seed=1)
    memory.build((None, None, 256))
    x = ops.convert_to_tensor(np.random.default_rng(0).normal(size=(1, positions, 256)).astype("float32"))
    calls = {"product": compiled(lambda x: memory(x), x), "find": compiled(lambda x: memory.select(x)[0], x)}
    if num_keys <= 128:
        calls["all"] = compiled(lambda x: all_keys(memory, x), x)
    found = compared(measure(calls, rounds, least), "product")
    times = {"finding, ms": found["find_ms"], "with reading, ms": found["product_ms"]}
    return {"values": num_keys**2, **times, "all keys, ms": found.get("all_ms", "")}


def all_keys(memory, x):
    """The same output by the score of each of the `num_keys^2` keys."""
    from zoo.gradients.rows import mixed_rows

    first, second = memory.half_scores(memory.queries(x))
    sums = first[..., :, None] + second[..., None, :]
    scores, indices = ops.top_k(ops.reshape(sums, (*sums.shape[:-2], memory.num_values)), memory.k)
    weights = ops.softmax(scores, axis=-1)
    return mixed_rows(memory.values, *(ops.reshape(each, (x.shape[1], -1)) for each in (indices, weights)))


def updater(optimizer, values, rows, units=128):
    """A call that updates a table `(values, units)` by the gradients of `rows` of its rows, its state in place."""
    random = np.random.default_rng(0)
    table = keras.Variable(np.zeros((values, units), "float32"), name="values")
    table.traits = Weight(row_updates=True)
    optimizer.build([table])
    indices = random.integers(0, values, (rows, 1)).astype("int32")
    factors = indices, np.ones((rows, 1), "float32"), random.normal(size=(rows, units)).astype("float32")
    by_rows = isinstance(optimizer, RowAdam)
    if keras.backend.backend() == "jax":
        import jax

        def apply(state, *factors):
            gradient = RowGradient(*factors) if by_rows else ops.segment_sum(factors[2], factors[0][:, 0], values)
            return optimizer.stateless_apply(state[1], [gradient], state[0])

        run = jax.jit(apply, donate_argnums=0)
        held = [([jax.numpy.copy(table.value)], [jax.numpy.copy(each.value) for each in optimizer.variables])]

        def update():
            held[0] = jax.block_until_ready(run(held[0], *factors))

        return update
    import tensorflow as tf

    @tf.function(jit_compile=True, autograph=False)
    def apply(indices, weights, upstream):
        gradient = tf.IndexedSlices(upstream, indices[:, 0])
        if not by_rows:
            gradient = tf.math.unsorted_segment_sum(upstream, indices[:, 0], values)
        optimizer.apply([gradient], [table])
        return optimizer.iterations.value

    return lambda: int(apply(*factors))


def update_row(num_keys, rounds, least, rows=8192):
    """Milliseconds of one update of the values alone: the rows that were read, and the whole table."""
    values = num_keys**2
    calls = {"rows": updater(RowAdam(1e-3), values, rows), "whole": updater(keras.optimizers.Adam(1e-3), values, rows)}
    found = compared(measure(calls, rounds, least), "whole")
    times = {"by rows, ms": found["rows_ms"], "whole, ms": found["whole_ms"]}
    return {"values": values, **times, "whole / by rows": found["whole/rows"]}


def capacity_row(name, inner, count, updates):
    """The share of pairs known by heart after `updates`, and of a memory usage and KL."""
    keras.utils.set_random_seed(1)
    model = labeller(inner)
    steps = make_steps(model, RowAdam(2e-3, 1e-2), SmoothedCrossEntropy())
    x, labels = pairs(count)
    for step in range(updates):
        steps.train(batch(x, labels, count, step))
    steps.sync()
    right = np.mean(np.argmax(ops.convert_to_numpy(model.predict({"x": x}, batch_size=1024, verbose=0)), -1) == labels)
    row = {"layer": name, "pairs": count, "products a position": products(inner), "known": round(float(right), 3)}
    weights = None
    if isinstance(inner, ProductKeyMemory):
        weights = ops.convert_to_numpy(inner.value_weights(x))
        found = memory_usage(weights)
        row |= {"usage": round(found["usage"], 3), "KL": round(found["kl"], 2)}
    print(row, file=sys.stderr, flush=True)
    return row, weights


def capacity(counts, num_keys, updates):
    rows, drawn = [], {}
    for count in counts:
        memories = {
            f"memory, {norm or 'no'} norm": ProductKeyMemory(UNITS, num_keys, 2, 8, 32, norm, seed=1)
            for norm in ("batch", None)
        }
        hidden = products(memories["memory, batch norm"]) // (2 * UNITS)
        for name, inner in (memories | {"feed-forward": FeedForward(UNITS, hidden)}).items():
            row, weights = capacity_row(name, inner, count, updates)
            rows.append(row)
            if weights is not None:
                drawn[name] = weights
    return rows, drawn


def draw(rows, weights, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for row_name, style in (("memory, batch norm", "o-"), ("memory, no norm", "s--"), ("feed-forward", "^:")):
        mine = [row for row in rows if row["layer"] == row_name]
        left.plot([row["pairs"] for row in mine], [row["known"] for row in mine], style, label=row_name)
    left.set(xscale="log", xticks=[row["pairs"] for row in mine], xticklabels=[row["pairs"] for row in mine])
    left.minorticks_off()
    left.set(ylim=(0, 1.05), xlabel="pairs to learn by heart", ylabel="known")
    left.legend(frameon=False, fontsize=8)
    for (name, found), style in zip(weights.items(), ("-", "--"), strict=True):
        right.plot(np.linspace(0, 1, len(found)), np.sort(found / found.sum())[::-1] * len(found), style, label=name)
    right.axhline(1, color="0.6", lw=0.8, ls=":")
    right.set(yscale="log", ylim=(1e-3, None), xlabel="values, most used first", ylabel="weight / uniform weight")
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    parser.add_argument("--updates", type=int, default=1200)
    options = parser.parse_args(arguments)
    if options.quick:
        print(table([lookup_row(32, 16, 1, 0.01)]), table([update_row(32, 1, 0.01)]), sep="\n\n")
        print(table(capacity([200], 32, 20)[0]))
        return
    backend = keras.backend.backend()
    updates = [update_row(num_keys, 3, 0.3) for num_keys in (64, 256, 512, 1024)]
    print(table(updates))
    if backend != "jax":
        write(f"product_key_memory_{backend}", updates)
        return
    lookups = [lookup_row(num_keys, 256, 5, 0.3) for num_keys in (64, 128, 256, 512, 1024)]
    print(table(lookups))
    rows, weights = capacity([2_000, 16_000], 128, options.updates)
    print(table(rows))
    write("product_key_memory", rows, backend=backend, lookup=lookups, update=updates)
    draw(rows, weights, FIGURE)


if __name__ == "__main__":
    main()
