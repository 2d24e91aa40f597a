"""Adaptive spans: what a short span saves.

    python benchmarks/adaptive_span.py            # writes benchmarks/results/adaptive_span.json
    python benchmarks/adaptive_span.py --quick    # one small size; writes nothing

Forward time, and keys and values that decoding holds, of one layer of 512 units, 8 heads, S = 1024, 2048 positions,
with all its heads at one span, trimmed; beside it multi-head attention. What heads learn is measured by
`seqzoo reproduce adaptive-span`.
"""

import argparse
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import numpy as np
from harness.report import table
from keras import ops
from timing import compared, measure, write

from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention


def savings(spans, units, heads, longest, time, rounds, least):
    """Forward time of one layer, trimmed to each span, and the keys and values that decoding holds."""
    layer = AdaptiveSpanAttention(units, heads, longest, ramp=32)
    layer.build((None, None, units))
    full = MultiHeadAttention(units, heads)
    full.build((None, None, units))
    x = ops.convert_to_tensor(np.random.default_rng(0).normal(size=(1, time, units)).astype("float32"))
    calls, windows = {}, {}
    for span in spans:
        layer.fractions.assign(np.full(heads, span / longest))
        windows[span] = layer.trim()
        compiled = jax.jit(lambda x: layer(x, causal=True)).lower(x).compile()
        calls[f"span {span}"] = lambda compiled=compiled: jax.block_until_ready(compiled(x))
    whole = jax.jit(lambda x: full(x, causal=True)).lower(x).compile()
    calls["multi-head"] = lambda: jax.block_until_ready(whole(x))
    widest = f"span {spans[-1]}"
    row = compared(measure(calls, rounds, least), widest)
    rows = []
    for name in calls:
        window = windows.get(int(name.split()[-1])) if name != "multi-head" else time
        size = 2 * 4 * units * (window + 1 if name != "multi-head" else time) / 2**20
        rows.append(
            {"layer": name, "window": window, "forward, ms": row[f"{name}_ms"]}
            | {"full span / this": row.get(f"{widest}/{name}", 1), "cache a beam, MiB": round(size, 2)}
        )
    return rows


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small size; writes nothing")
    if parser.parse_args(arguments).quick:
        print(table(savings([0, 32], 16, 2, 64, 128, 1, 0.01)))
        return
    rows = savings([0, 32, 96, 224, 480, 992], 512, 8, 1024, 2048, 5, 0.5)
    print(table(rows))
    write("adaptive_span", rows)


if __name__ == "__main__":
    main()
