"""The blocks, in an encoder's form and in a decoder's, as cases of the contract battery."""

from zoo.attention import MultiHeadAttention
from zoo.blocks import Macaron, PostNorm, PreNorm
from zoo.check.laws import Case, length_mask, sequences
from zoo.check.slots import causally
from zoo.feedforward import FeedForward

BLOCKS = {"post_norm": PostNorm, "pre_norm": PreNorm, "macaron": Macaron}


def make_block(name, cross=False, units=6, hidden_units=8, **settings):
    """A block of two heads; the memory of a decoder's may have units of its own."""
    parts = {"attention": MultiHeadAttention(units, 2), "feedforward": FeedForward(units, hidden_units)}
    if cross:
        parts["cross_attention"] = MultiHeadAttention(units, 2)
    if name == "macaron":
        parts["first"] = FeedForward(units, hidden_units)
    return BLOCKS[name](**parts, **settings)


def reading(rows, time, noise):
    """What an encoder reads."""
    return {"x": sequences(rows, time, 6, noise), "mask": length_mask(rows, time)}


def writing(rows, time, noise):
    """What a decoder writes, beside a memory of other times."""
    return {
        "x": sequences(rows, time + 2, 6, noise, stream=0),
        "memory": sequences(rows, time, 6, noise, stream=1),
        "memory_mask": length_mask(rows, time),
    }


def both(name, core=False):
    """Of the decoder's form all is asked in every run where `core`."""
    return [
        Case(f"{name}-encoder", lambda: make_block(name), reading),
        Case(f"{name}-decoder", lambda: make_block(name, cross=True), writing, causally, core=core),
    ]


CASES = [*both("post_norm"), *both("pre_norm"), *both("macaron", core=True)]
