"""The stacks as cases of the contract battery; the models' cases hold the other wirings."""

from tests.blocks.cases import make_block, reading, writing
from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.blocks import Macaron, PreNorm
from zoo.check.laws import Case
from zoo.check.slots import causally, summarised
from zoo.depth import (
    GeometricExit,
    Halting,
    ReversibleStack,
    SequenceExit,
    UniversalStack,
    make_depth_adaptive_stack,
    make_stack,
    make_star_stack,
    make_universal_stack,
)
from zoo.feedforward import FeedForward


def stack(block, cross=False, **settings):
    return lambda: make_stack(2, 6, 2, 8, block, cross=cross, **settings)


def reversible_encoder():
    def block(seed):
        attention = LSHAttention(6, 2, num_buckets=4, chunk_length=2, seed=seed)
        return PreNorm(attention, FeedForward(6, 8), dropout=0.1, seed=seed)

    return ReversibleStack([block(seed) for seed in range(2)])


def reversible_decoder():
    """Of chunks that hold all: a position's neighbours by hash change with what stands behind it."""

    def block(attention):
        return Macaron(FeedForward(6, 8), attention, FeedForward(6, 8), MultiHeadAttention(6, 2))

    attentions = LSHAttention(6, 2, num_buckets=4, chunk_length=16), MultiHeadAttention(6, 2)
    return ReversibleStack([block(attention) for attention in attentions], "checkpoint")


def star_states():
    return make_star_stack(2, 6, 2, summary=False, dropout=0.1, seed=1)


def universal(cross=False, **settings):
    return make_universal_stack(3, 6, 2, 8, cross=cross, **settings)


def universal_decoder():
    return UniversalStack(make_block("pre_norm", cross=True), 3, Halting("interpolated", ponder=0.1))


def depth_adaptive(rule, block="pre_norm"):
    return make_depth_adaptive_stack(3, 6, 2, 8, rule(3), block)


def all_depths(stack, arguments):
    """What training sees."""
    return stack.depths(**arguments, causal=True)


CASES = [
    Case("stack-post_norm-encoder", stack("post_norm"), reading),
    Case("stack-pre_norm-gelu-encoder", stack("pre_norm", activation="gelu"), reading),
    Case("stack-rms-decoder", stack("pre_norm", cross=True, norm="rms", epsilon=1e-6), writing, causally, core=True),
    Case("stack-macaron-decoder", stack("macaron", cross=True), writing, causally),
    # In 16 bits a query next to the border of two buckets falls into the other one, and meets other keys.
    Case("reversible-lsh-encoder", reversible_encoder, reading, without=("bfloat16",)),
    Case("reversible-macaron-decoder", reversible_decoder, writing, causally),
    Case("universal-encoder", lambda: universal(max_offset=5, seed=1), reading),
    # In 16 bits a position may halt a step earlier or later, and so be another one.
    Case("universal-act-encoder", lambda: universal(halting=Halting()), reading, without=("bfloat16",), core=True),
    Case("universal-act-decoder", universal_decoder, writing, causally, without=("bfloat16",)),
    # In 16 bits a token may leave a block earlier or later. Who leaves where has no gradient.
    Case(
        "depth-adaptive-exits",
        lambda: depth_adaptive(GeometricExit),
        writing,
        causally,
        without=("bfloat16", "gradients"),
        core=True,
    ),
    Case(
        "depth-adaptive-depths",
        lambda: depth_adaptive(SequenceExit, "post_norm"),
        writing,
        all_depths,
        without=("elsewhere", "implicit_masks"),  # a method, not a call
    ),
    # LN divides what ReLU leaves of six units by almost nothing; tests/depth/test_star.py asks 16 bits of 64 units.
    Case("star-states", star_states, reading, without=("bfloat16",), core=True),
    Case("star-summary", lambda: make_star_stack(2, 6, 2), reading, summarised, without=("bfloat16",)),
]
