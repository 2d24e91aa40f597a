"""What a training step of a Reformer needs: memory against depth, and how exactly a reversible stack is undone.

    python benchmarks/reformer_memory.py            # writes benchmarks/results/reformer_memory.json
    python benchmarks/reformer_memory.py --quick    # depths 2 and 4, float32 and float64; writes nothing

Memory: temporary memory of the compiled step (XLA's own account: loss and gradients of all weights), in MiB, for depths
2 to 32 of a stack of multi-head attention and feed-forward layers: batch 2, 1024 positions, 128 units, 2 heads, 512
hidden units, float32. Reconstruction: largest error of the streams before the first block, computed back from those
behind the last, relative to their largest entry. Long: one training step of an LSH language model over 65,536 tokens.
Loss: a step of a language model of 32,000 tokens over 4 x 512 positions, on JAX, with the logits of a part at a time.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BATCH, TIME, UNITS, HEADS, HIDDEN = 2, 1024, 128, 2, 512
DEPTHS = (2, 4, 8, 16, 32)
ACTIVATIONS = ("plain", "checkpoint", "reversible")


def make_stack(depth, activations):
    from zoo.attention import MultiHeadAttention
    from zoo.blocks import PreNorm
    from zoo.depth import ReversibleStack
    from zoo.feedforward import FeedForward

    blocks = [PreNorm(MultiHeadAttention(UNITS, HEADS), FeedForward(UNITS, HIDDEN)) for _ in range(depth)]
    stack = ReversibleStack(blocks, activations)
    stack.build((None, None, UNITS))
    return stack


def jax_temporary(step, *arguments):
    """MiB of a function of arrays."""
    import jax

    return jax.jit(step).lower(*arguments).compile().memory_analysis().temp_size_in_bytes / 2**20


def jax_step(stack):
    import jax

    trained = [v.value for v in stack.trainable_variables]
    fixed = [v.value for v in stack.non_trainable_variables]

    def loss(trained, x):
        outputs, _ = stack.stateless_call(trained, fixed, x, causal=True, training=True)
        return (outputs**2).mean()

    def step(trained, x):
        value, gradients = jax.value_and_grad(loss)(trained, x)
        return value, [v - 0.1 * g for v, g in zip(trained, gradients, strict=True)]

    return step, trained


def tensorflow_temporary(stack, x):
    """MiB, from the buffer assignment that XLA dumps."""
    import tensorflow as tf

    weights = [v.value for v in stack.trainable_variables]

    @tf.function(jit_compile=True, autograph=False)
    def measured_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(stack(x, causal=True, training=True) ** 2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * gradient)
        return loss

    measured_step(tf.zeros(x)).numpy()
    dumps = Path(os.environ["XLA_DUMP"]).glob("*measured_step*buffer-assignment.txt")
    sizes = [_temporary(path.read_text(encoding="utf-8")) for path in dumps]
    return max(sizes) / 2**20


def _temporary(text):
    lines = [line for line in text.splitlines() if "preallocated-temp" in line and line.startswith("allocation ")]
    return sum(int(line.split("size ")[1].split(",")[0]) for line in lines)


def measure_memory(depth, activations):
    import keras
    import numpy as np

    stack = make_stack(depth, activations)
    if keras.backend.backend() == "jax":
        step, trained = jax_step(stack)
        return jax_temporary(step, trained, np.zeros((BATCH, TIME, UNITS), "float32"))
    return tensorflow_temporary(stack, (BATCH, TIME, UNITS))


def measure_errors(depths):
    """`{dtype: {depth: error}}` of streams that went through the stack and back, half-step by half-step.

    bfloat16 has its streams in 16 bits, which the library never does; mixed_bfloat16 has them in float32.
    """
    import keras
    import numpy as np
    import tensorflow as tf

    errors = {}
    for name in ("float64", "float32", "mixed_bfloat16", "bfloat16"):
        keras.config.set_floatx("float64" if name == "float64" else "float32")
        keras.config.set_dtype_policy("float32" if name == "bfloat16" else name)
        keras.utils.set_random_seed(1)
        stack = make_stack(max(depths), "plain")
        dtype = "float32" if name == "mixed_bfloat16" else name
        x = tf.constant(np.random.default_rng(0).normal(size=(1, 64, UNITS)), dtype)
        errors[name] = {}
        pieces = [piece.function for piece in stack._pieces(None, None, True, False, False)]

        def change(piece, x):
            return tf.cast(piece(x), x.dtype)

        streams, passed = (x, x), []
        for index, piece in enumerate(pieces):
            streams = streams[1], streams[0] + change(piece, streams[1])
            passed.append(piece)
            if (index + 1) % 2 == 0 and (index + 1) // 2 in depths:
                errors[name][(index + 1) // 2] = _error(streams, passed, change, x)
    return errors


def _error(streams, passed, change, x):
    import numpy as np

    for piece in reversed(passed):
        streams = streams[1] - change(piece, streams[0]), streams[0]
    worst = max(np.abs((each - x).numpy().astype("float64")).max() for each in streams)
    return float(worst / np.abs(x.numpy().astype("float64")).max())


def measure_long(tokens=65_536, depth=3):
    """The first update of a language model over bytes, and the process's peak of resident memory."""
    import resource
    import time

    import keras
    import numpy as np

    from zoo.attention import LSHAttention
    from zoo.blocks import PreNorm
    from zoo.depth import ReversibleStack
    from zoo.feedforward import ChunkedFeedForward, FeedForward
    from zoo.models import LanguageModel
    from zoo.training import SmoothedCrossEntropy, make_steps

    units, heads = 256, 4

    def block(seed):
        attention = LSHAttention(units, heads, num_buckets=[32, 64], chunk_length=64, rounds=2, seed=seed)
        return PreNorm(attention, ChunkedFeedForward(FeedForward(units, 4 * units), 16))

    model = LanguageModel(256, ReversibleStack([block(seed) for seed in range(depth)]), dropout=0.0)
    model.build()
    steps = make_steps(model, keras.optimizers.Adam(1e-3), SmoothedCrossEntropy())
    ids = np.random.default_rng(0).integers(0, 256, (1, tokens + 1)).astype("int32")
    batch = {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": np.ones((1, tokens), "float32")}
    start = time.perf_counter()
    loss = float(steps.train(batch))
    seconds = round(time.perf_counter() - start, 1)
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    found = {"tokens": tokens, "layers": depth, "units": units, "rounds": 2, "loss": round(loss, 3)}
    return {**found, "peak_gib": peak, "seconds_with_compiling": seconds}


def measure_loss(chunks):
    """MiB of a compiled step whose loss is cut into so many parts."""
    import keras
    import numpy as np

    from zoo.depth import make_stack
    from zoo.models import LanguageModel
    from zoo.training import ChunkedCrossEntropy, SmoothedCrossEntropy, make_steps

    model = LanguageModel(32_000, make_stack(1, 64, 2, 128, dropout=0.0), dropout=0.0)
    model.build()
    loss = SmoothedCrossEntropy() if chunks == 1 else ChunkedCrossEntropy(chunks)
    steps = make_steps(model, keras.optimizers.SGD(0.1), loss)
    ids = np.ones((4, 512), "int32")
    batch = {"token_ids": ids, "labels": ids, "weights": ids.astype("float32")}
    return jax_temporary(lambda state, batch: steps._train(state, batch), steps._state, batch)


def elsewhere(backend, *arguments):
    """The answer of this file in a process of its own: each has a clean account."""
    import tempfile

    with tempfile.TemporaryDirectory() as dump:
        flags = f"--xla_dump_to={dump} --xla_dump_hlo_as_text" if backend == "tensorflow" else ""
        environment = {**os.environ, "KERAS_BACKEND": backend, "XLA_FLAGS": flags, "XLA_DUMP": dump}
        environment["PYTHONPATH"] = str(ROOT)
        command = [sys.executable, __file__, "--one", json.dumps(arguments)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="depths 2 and 4; writes nothing")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        name, *rest = json.loads(options.one)
        measures = {"memory": measure_memory, "errors": measure_errors, "long": measure_long, "loss": measure_loss}
        print(json.dumps(measures[name](*rest)))
        return
    from harness.report import table
    from timing import write

    depths = DEPTHS[:2] if options.quick else DEPTHS
    rows = []
    for backend in ("tensorflow", "jax"):
        for activations in ACTIVATIONS:
            found = {f"{depth} layers": round(elsewhere(backend, "memory", depth, activations), 1) for depth in depths}
            rows.append({"backend": backend, "activations": activations, **found})
            print(rows[-1], file=sys.stderr, flush=True)
    errors = elsewhere("tensorflow", "errors", [1, 6] if options.quick else [1, 6, 12, 24, 48, 96])
    lost = [
        {"dtype": dtype, **{depth: f"{error:.0e}" for depth, error in row.items()}} for dtype, row in errors.items()
    ]
    print(table(rows), table(lost), sep="\n\n")
    if not options.quick:
        long = elsewhere("jax", "long")
        print(table([long]))
        loss = {f"{chunks} chunks": round(elsewhere("jax", "loss", chunks), 1) for chunks in (1, 4, 8, 16)}
        print(table([loss]))
        write("reformer_memory", rows, reconstruction_errors=errors, long=long, loss=loss)


if __name__ == "__main__":
    main()
