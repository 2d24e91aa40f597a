"""Time against length: LSH attention with 1, 2, 4 and 8 rounds against Hugging Face's Reformer and our full attention.

What is timed is the gradient of all weights of one reversible layer, attention and feed-forward, causal: 256 units, 4
heads, 512 hidden units, chunks of 64 positions with one look back, `2 * length / 64` buckets, no dropout; 16,384 tokens
a step (one sequence where it is longer). The peer is `transformers.ReformerModel` of the same configuration, eager as
it comes; it adds an embedding. Hashes are drawn at random, so the outputs are not compared here; the tests compare them
with oracles.
"""

from harness.engine import Engine

MODULE = "cases.reformer_engines"
TOKENS, LONGEST_FULL = 16_384, 8192
LENGTHS = (512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536)
ROUNDS = (1, 2, 4, 8)


def cells(quick):
    lengths, rounds, tokens = ((256, 512), (1,), 1024) if quick else (LENGTHS, ROUNDS, TOKENS)
    return [_cell(length, count, tokens) for length in lengths for count in rounds]


def _cell(length, rounds, tokens):
    settings = {"length": length, "batch": max(1, tokens // length)}
    ours, peer = f"LSH-{rounds}", f"Hugging Face-{rounds}"
    hashed = settings | {"rounds": rounds}
    engines = [Engine(ours, MODULE, "ours", hashed), Engine(peer, MODULE, "peer", hashed, "transformers")]
    pairs = [(ours, peer)]
    if rounds == 1 and length <= LONGEST_FULL:  # once for each length
        engines.append(Engine("full attention", MODULE, "ours", settings | {"rounds": None}))
        pairs.append((ours, "full attention"))
    name = f"{length} positions, rounds: {rounds}"
    return {
        "name": name,
        "engines": engines,
        "pairs": pairs,
        "before": 1,
        "about": {"length": length, "rounds": rounds},
    }


def summary(rows):
    """`time(16k) / time(4k)` of a sequence: 4 would be linear, 16 quadratic."""
    cost = {(row["engine"], row["length"]): row["ours_ms"] / max(1, TOKENS // row["length"]) for row in rows}
    found = {}
    for rounds in ROUNDS:
        long, short = (cost.get((f"LSH-{rounds}", length)) for length in (16_384, 4096))
        if long and short:
            found[f"LSH-{rounds}"] = round(long / short, 2)
    return {"t(16k)/t(4k)": found}
