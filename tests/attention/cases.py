"""The attentions as cases of the contract battery."""

from zoo.attention import (
    SSRU,
    AdaptiveSpanAttention,
    AdditiveAttention,
    DotProductAttention,
    LocalAttention,
    LSHAttention,
    MultiHeadAttention,
    MultiLinearAttention,
    RelativeAttention,
    RingLSHAttention,
)
from zoo.check.laws import Case, sequences
from zoo.check.slots import alone, causally, over_a_memory


def remembering(rows, time, noise):
    """A query and a value of the same units."""
    return {**over_a_memory(rows, time, noise), "value": sequences(rows, time, 3, noise, stream=1)}


def remembered(layer, arguments):
    """Over what `project` made of the value, as a decoder sees its source."""
    masks = {name: arguments[name] for name in ("query_mask", "value_mask")}
    return layer(arguments["query"], cache=layer.project(arguments["value"]), **masks)[0]


def multi_head(name, arguments, apply=causally, core=False, without=(), **settings):
    return Case(f"multi-head-{name}", lambda: MultiHeadAttention(6, 2, **settings), arguments, apply, without, core)


ATTENTIONS = {"additive": AdditiveAttention, "dot": DotProductAttention}
CASES = [
    case
    for name, make in ATTENTIONS.items()
    for case in (
        Case(f"{name}-cross", lambda make=make: make(5), over_a_memory, core=True),
        Case(f"{name}-causal-self", lambda make=make: make(5), alone, causally, core=True),
    )
]
MULTI_HEAD = [
    multi_head("cross", over_a_memory, lambda layer, arguments: layer(**arguments), core=True),
    multi_head("self", alone, lambda layer, arguments: layer(**arguments)),
    multi_head("causal-self", alone),
    multi_head("without-bias", alone, use_bias=False),
    multi_head("head-units", alone, head_units=5),
    # `project` is a method: a functional model, which knows layers and operations, cannot hold it.
    # And nothing but an argument tells it what of the value counts.
    multi_head("cached", remembering, remembered, without=("symbolic", "elsewhere", "implicit_masks")),
]
CASES += MULTI_HEAD


# A position looks at itself where there is nothing else, or not as a key: the law "causal" asks that it does.
def lsh(name, arguments, apply=causally, core=False, without=(), **settings):
    def make():
        return LSHAttention(6, 2, **{"num_buckets": 4, "chunk_length": 2, "seed": 1, **settings})

    return Case(f"lsh-{name}", make, arguments, apply, (*without, "causal"), core)


CASES += [
    # In 16 bits a query next to the border of two buckets falls into the other one, and meets other keys.
    lsh("causal", alone, core=True, without=("bfloat16",)),
    lsh("both-ways", alone, lambda layer, arguments: layer(**arguments), num_buckets=[2, 4], without=("bfloat16",)),
    lsh("one-chunk", alone, chunk_length=8, rounds=1, use_bias=True),
]


def adaptive_span(name, core=False, **settings):
    def make():
        return AdaptiveSpanAttention(6, 2, **{"max_span": 4, "ramp": 3, **settings})

    return Case(f"adaptive-span-{name}", make, alone, causally, ("causal",), core)


CASES += [
    adaptive_span("static", core=True),
    adaptive_span("dynamic", dynamic=True),
    adaptive_span("window", max_span=16, ramp=8, window=3),
]


def multi_linear(name, apply=causally, core=False, **settings):
    return Case(
        f"multi-linear-{name}", lambda: MultiLinearAttention(6, 5, max_time=7, **settings), alone, apply, (), core
    )


CASES += [
    multi_linear("causal", core=True),
    multi_linear("both-ways", lambda layer, arguments: layer(**arguments), num_cores=3),
    multi_linear("reconstruct", mode="reconstruct"),
]


def relative(name, apply=causally, core=False, **settings):
    own = {"num_buckets": 8, "max_distance": 6, **settings}
    return Case(f"relative-{name}", lambda: RelativeAttention(6, 2, **own), alone, apply, (), core)


CASES += [
    relative("causal", core=True),
    relative("both-ways", lambda layer, arguments: layer(**arguments), head_units=5),
    relative("with-bias", use_bias=True, num_buckets=4, max_distance=3),
]


CASES += [Case("ssru", lambda: SSRU(6), alone, causally, core=True)]


def local(name, apply=causally, core=False, **settings):
    return Case(f"local-{name}", lambda: LocalAttention(6, 2, **{"chunk_length": 2} | settings), alone, apply, (), core)


def ring_lsh(name, apply=causally, core=False, **settings):
    own = {"num_buckets": 4, "chunk_length": 2, **settings}
    return Case(f"ring-lsh-{name}", lambda: RingLSHAttention(6, 2, **own), alone, apply, ("bfloat16", "causal"), core)


CASES += [
    local("causal", core=True),
    local("ring", lambda layer, arguments: layer(**arguments), looks=(1, 1), multiple=4, head_units=5),
    ring_lsh("causal", core=True, rounds=2),
    ring_lsh("both-ways", lambda layer, arguments: layer(**arguments), looks=(2, 1), multiple=4, head_units=5),
]
