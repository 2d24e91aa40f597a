"""The attentions as cases of the contract battery."""

from tests.contracts import Case, length_mask, sequences
from zoo.attention import AdditiveAttention, DotProductAttention


def crossing(rows, time, noise):
    """A query over its own times and a value over others, each with its mask."""
    return {
        "query": sequences(rows, time + 2, 3, noise, stream=0),
        "value": sequences(rows, time, 7, noise, stream=1),
        "query_mask": length_mask(rows, time + 2),
        "value_mask": length_mask(rows, time),
    }


def alone(rows, time, noise):
    return {"query": sequences(rows, time, 3, noise), "query_mask": length_mask(rows, time)}


def causally(layer, arguments):
    return layer(**arguments, causal=True)


ATTENTIONS = {"additive": AdditiveAttention, "dot": DotProductAttention}
CASES = [
    case
    for name, make in ATTENTIONS.items()
    for case in (
        Case(f"{name}-cross", lambda make=make: make(5), crossing, core=True),
        Case(f"{name}-causal-self", lambda make=make: make(5), alone, causally, core=True),
    )
]
