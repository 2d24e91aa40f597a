"""The position-wise networks as cases of the contract battery."""

from zoo.check.laws import Case, sequences
from zoo.feedforward import ChunkedFeedForward, FeedForward, GatedFeedForward, ProductKeyMemory


def positions(rows, time, noise):
    return {"x": sequences(rows, time, 5, noise)}


def called(layer, arguments):
    return layer(arguments["x"])


CASES = [
    Case("feedforward-relu", lambda: FeedForward(5, 11), positions, called, core=True),
    Case("feedforward-gelu", lambda: FeedForward(5, 11, "gelu"), positions, called),
    Case("feedforward-gelu-tanh", lambda: FeedForward(5, 11, "gelu_tanh", use_bias=False), positions, called),
    Case("feedforward-silu", lambda: FeedForward(5, 11, "silu"), positions, called),
    Case("gated", lambda: GatedFeedForward(5, 11, "gelu_tanh"), positions, called, core=True),
    Case("gated-with-bias", lambda: GatedFeedForward(5, 7, "silu", use_bias=True), positions, called),
    Case("chunked-2", lambda: ChunkedFeedForward(FeedForward(5, 11), 2), positions, called, core=True),
    Case("chunked-3-gelu", lambda: ChunkedFeedForward(FeedForward(5, 7, "gelu"), 3), positions, called),
]


def memory(name, core=False, without=(), **settings):
    def make():
        return ProductKeyMemory(5, **{"num_keys": 7, "num_heads": 2, "k": 5, "query_dim": 6, "seed": 1, **settings})

    return Case(f"product-key-{name}", make, positions, called, without, core)


CASES += [
    # In 16 bits another of two keys that are alike may be the nearer one, and its value is another.
    memory("batch-norm", core=True, without=("bfloat16", "training")),  # without a mask, of which it takes statistics
    memory("layer-norm", query_norm="layer", without=("bfloat16",)),
    memory("all-slots", num_keys=2, k=4, query_norm=None),
]
