"""Time against length: LSH attention with 1, 2, 4, 8 rounds, full attention, and Hugging Face's Reformer.

    python benchmarks/reformer_time.py                              # writes benchmarks/results/reformer_time.json
    python benchmarks/reformer_time.py --peer /path/to/bin/python   # where torch and transformers are installed
    python benchmarks/reformer_time.py --quick                      # 512 and 1024 positions, one round; writes nothing

What is timed is the gradient of all weights of one reversible layer, attention and feed-forward, causal: 256 units, 4
heads, 512 hidden units, chunks of 64 positions with one look back, `2 * length / 64` buckets, no dropout; 16,384 tokens
a step (one sequence where it is longer). Ours is compiled by XLA, on the backend of KERAS_BACKEND. Full attention is
`MultiHeadAttention` in the same layer, up to 8192 positions. The peer is `transformers.ReformerModel` of the same
configuration, eager as it comes; it adds an embedding. Microseconds a token, the median of `--repeats` steps;
`--cpu-time` counts the process's CPU seconds instead of the clock's, for a busy machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

UNITS, HEADS, HIDDEN, CHUNK, TOKENS = 256, 4, 512, 64, 16_384
LENGTHS = (512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536)
ROUNDS = (1, 2, 4, 8)
LONGEST_FULL = 8192


def buckets(length):
    """A number, or two factors where it is large: about the square root each."""
    count = 2 * length // CHUNK
    if count <= 64:
        return count
    first = 2 ** (count.bit_length() // 2)
    return [first, count // first]


def ours(length, rounds):
    """A function that computes one step; `rounds=None` is full attention."""
    import keras
    import numpy as np

    from zoo.depth import make_reformer_stack

    hashing = None if rounds is None else {"num_buckets": buckets(length), "chunk_length": CHUNK, "rounds": rounds}
    stack = make_reformer_stack(1, UNITS, HEADS, HIDDEN, hashing=hashing, dropout=0.0, seed=0)
    stack.build((None, None, UNITS))
    x = np.random.default_rng(0).normal(size=(max(1, TOKENS // length), length, UNITS)).astype("float32")
    if keras.backend.backend() == "jax":
        return _jax_step(stack, x)
    import tensorflow as tf

    x = tf.constant(x)

    @tf.function(jit_compile=True, autograph=False)
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(stack(x, causal=True, training=True) ** 2)
        return loss, tape.gradient(loss, [weight.value for weight in stack.trainable_weights])

    return lambda: step()[0].numpy()


def _jax_step(stack, x):
    import jax

    trained, fixed = ([v.value for v in group] for group in (stack.trainable_variables, stack.non_trainable_variables))

    @jax.jit
    @jax.value_and_grad
    def step(trained, x):
        return (stack.stateless_call(trained, fixed, x, causal=True, training=True)[0] ** 2).mean()

    x = jax.device_put(x)
    return lambda: jax.block_until_ready(step(trained, x))


def peer(length, rounds):
    """The same of Hugging Face."""
    import torch
    from transformers import ReformerConfig, ReformerModel

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    config = ReformerConfig(
        attn_layers=["lsh"],
        hidden_size=UNITS,
        num_attention_heads=HEADS,
        attention_head_size=UNITS // HEADS,
        feed_forward_size=HIDDEN,
        lsh_attn_chunk_length=CHUNK,
        lsh_num_chunks_before=1,
        lsh_num_chunks_after=0,
        num_hashes=rounds,
        num_buckets=buckets(length),
        is_decoder=True,
        axial_pos_embds=False,
        max_position_embeddings=length,
        hidden_dropout_prob=0.0,
        lsh_attention_probs_dropout_prob=0.0,
        vocab_size=256,
    )
    model = ReformerModel(config).train()
    ids = torch.randint(0, 256, (max(1, TOKENS // length), length))

    def step():
        model.zero_grad()
        loss = model(ids).last_hidden_state.pow(2).mean()
        loss.backward()
        return float(loss)

    return step


def microseconds(step, length, repeats, clock):
    """Of one token: the median."""
    step()
    taken = []
    for _ in range(repeats):
        start = clock()
        step()
        taken.append(clock() - start)
    return round(1e6 * statistics.median(taken) / max(TOKENS, length), 1)


def elsewhere(python, engine, length, rounds, *settings):
    """In a process of its own, so that a length leaves no memory behind; None where it fails (memory)."""
    command = [python, __file__, "--one", json.dumps([engine, length, rounds, *settings])]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"{engine}, {length} positions: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="512 and 1024 positions, one round; writes nothing")
    parser.add_argument("--peer", help="a Python with torch and transformers")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--rounds", type=int, nargs="+", default=ROUNDS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        engine, length, rounds, repeats, cpu_time = json.loads(options.one)
        clock = time.process_time if cpu_time else time.perf_counter
        print(json.dumps(microseconds({"ours": ours, "peer": peer}[engine](length, rounds), length, repeats, clock)))
        return
    from timing import table, write

    lengths, rounds = ((512, 1024), (1,)) if options.quick else (options.lengths, options.rounds)
    settings = options.repeats, options.cpu_time
    rows = []
    for length in lengths:
        row = {"length": length}
        if length <= LONGEST_FULL:
            row["full"] = elsewhere(sys.executable, "ours", length, None, *settings)
        for count in rounds:
            row[f"LSH-{count}"] = elsewhere(sys.executable, "ours", length, count, *settings)
            if options.peer:
                row[f"Hugging Face-{count}"] = elsewhere(options.peer, "peer", length, count, *settings)
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    print(table(rows))
    summary = summarise(rows, rounds)
    print(json.dumps(summary, indent=1))
    if not options.quick:
        write(
            "reformer_time",
            rows,
            backend=os.environ.get("KERAS_BACKEND", "tensorflow"),
            cpu_time=options.cpu_time,
            repeats=options.repeats,
            peers=options.peer and versions_of(options.peer),
            **summary,
        )


def versions_of(python):
    """Of the peer's libraries."""
    code = "import json, torch, transformers; print(json.dumps([torch.__version__, transformers.__version__]))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(("torch", "transformers"), json.loads(done.stdout), strict=True))


def summarise(rows, rounds):
    """`t(16k) / t(4k)` of one sequence, from what a token costs; and the shortest length where LSH is faster."""
    cost = {row["length"]: row for row in rows}
    summary = {"t(16k)/t(4k)": {}, "faster than full from": {}}
    for name in [f"LSH-{count}" for count in rounds]:
        if {4096, 16_384} <= cost.keys():
            summary["t(16k)/t(4k)"][name] = round(4 * cost[16_384][name] / cost[4096][name], 2)
        faster = [length for length, row in cost.items() if row.get("full") and row[name] and row[name] < row["full"]]
        summary["faster than full from"][name] = min(faster, default=None)
    return summary


if __name__ == "__main__":
    main()
