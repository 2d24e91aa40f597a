"""Product-key memory: what a lookup and an update cost as values grow.

    python benchmarks/product_key_memory.py            # writes benchmarks/results/product_key_memory.json
    KERAS_BACKEND=tensorflow python benchmarks/product_key_memory.py    # the update alone, on TensorFlow
    python benchmarks/product_key_memory.py --quick    # small sizes; writes nothing

Lookup: 256 positions of 256 units, 4 heads, k = 32, queries of 256, one thread, up to 2^20 values; beside it, scoring
all keys. Update: of values of 128 units, 8,192 reads of random rows: RowAdam (those rows) and Adam (all rows).
`seqzoo reproduce product-key` has how much a memory holds.
"""

import argparse
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from harness.report import table
from keras import ops
from timing import compared, measure, write

from zoo.core.protocols import Weight
from zoo.feedforward import ProductKeyMemory
from zoo.training import RowAdam
from zoo.training.steps.optimizers import RowGradient


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


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    if parser.parse_args(arguments).quick:
        print(table([lookup_row(32, 16, 1, 0.01)]), table([update_row(32, 1, 0.01)]), sep="\n\n")
        return
    backend = keras.backend.backend()
    updates = [update_row(num_keys, 3, 0.3) for num_keys in (64, 256, 512, 1024)]
    print(table(updates))
    if backend != "jax":
        write(f"product_key_memory_{backend}", updates)
        return
    lookups = [lookup_row(num_keys, 256, 5, 0.3) for num_keys in (64, 128, 256, 512, 1024)]
    print(table(lookups))
    write("product_key_memory", lookups, update=updates)


if __name__ == "__main__":
    main()
