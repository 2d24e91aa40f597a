"""The law of steps, of every model that writes: fed one token after the other, it has the logits of the full pass."""

import pytest

from tests.blocks.cases import make_block
from tests.models import cases, settings
from tests.models.cases import ONE_CHUNK, SOURCES, TARGETS, batch, called, causal_text, shared_batch, stack
from zoo.attention import (
    SSRU,
    AdaptiveSpanAttention,
    LocalAttention,
    MultiHeadAttention,
    MultiLinearAttention,
    RelativeAttention,
)
from zoo.blocks import PostNorm, PreNorm
from zoo.check.laws import Case, build, lengths, token_ids
from zoo.check.steps import check_steps
from zoo.depth import Halting, ReversibleStack, Stack, UniversalStack, make_reformer_stack, make_universal_stack
from zoo.embeddings import AxialPositions, LearnedPositions, NoPositions
from zoo.feedforward import FeedForward, GatedFeedForward
from zoo.models import LanguageModel, Transformer

ROWS = ((1, 9), (2, 4), (3, 0))  # prompts, or sources: one longer than 11 positions leave, one empty
SOURCE, LENGTHS = token_ids(ROWS, 9, SOURCES, noise=5), lengths(ROWS)
FOLLOWING = token_ids(((7, 12), (8, 12), (9, 12)), 12, SOURCES).reshape(3, 3, 4)
PARENTS = token_ids(((4, 12), (5, 12), (6, 12)), 12, 3).reshape(3, 3, 4)


def heads():
    return MultiHeadAttention(6, 2)


def spans():
    return AdaptiveSpanAttention(6, 2, max_span=4, ramp=2, initial_span=2)


def ssru():
    return SSRU(6)


def relative():
    return RelativeAttention(6, 2, num_buckets=8, max_distance=12)


def local():
    return LocalAttention(6, 2, chunk_length=3)


def reconstructed():
    return MultiLinearAttention(6, 5, 14, mode="reconstruct")


def block(attention, wiring=PreNorm, cross=False, feedforward=FeedForward):
    return wiring(attention(), feedforward(6, 8), heads() if cross else None)


def over_memory(attention=spans, wiring=PreNorm):
    return block(attention, wiring, cross=True)


def reformer(cross=False):
    return make_reformer_stack(2, 6, 2, 8, hashing=ONE_CHUNK, cross=cross, seed=1)


def universal(rule, wiring=None, cross=False):
    halting = rule and Halting(rule, threshold=0.9)
    if wiring:
        return UniversalStack(make_block(wiring, cross), 3, halting)
    return make_universal_stack(3, 6, 2, 8, halting, cross=cross, seed=1)


WRITERS = {  # a language model -> its stack and its positions
    "post-norm": lambda: (stack("post_norm", 1), None),
    "macaron": lambda: (stack("macaron", 1), None),
    "relative": lambda: (Stack([block(relative, feedforward=GatedFeedForward) for _ in range(2)]), NoPositions()),
    "local": lambda: (Stack([block(local), block(local)]), LearnedPositions(32)),
    "multi-linear": lambda: (Stack([block(reconstructed)]), None),
    "ssru": lambda: (Stack([block(ssru), block(ssru)]), None),
    "ssru-beside-a-pool": lambda: (Stack([block(heads), block(ssru)]), None),
    "ssru-beside-a-pool-that-is-cut": lambda: (Stack([block(ssru), block(spans)]), None),
    "ssru-again-and-again": lambda: (UniversalStack(block(ssru, PostNorm), 3), None),
    "reformer": lambda: (reformer(), None),
    "reformer-axial": lambda: (reformer(), AxialPositions((4, 4))),
    "universal": lambda: (universal(None), None),
    "universal-macaron": lambda: (universal("accumulated", "macaron"), None),
    "universal-interpolated": lambda: (universal("interpolated"), None),
}
DECODERS = {  # of a translator
    "ssru": lambda: Stack([over_memory(ssru, PostNorm), over_memory(ssru, PostNorm)]),
    "spans": lambda: Stack([over_memory(), over_memory(heads)]),
    "spans-post-norm": lambda: Stack([over_memory(wiring=PostNorm)]),
    "spans-reversible": lambda: ReversibleStack([over_memory(), over_memory()]),
    "spans-universal": lambda: UniversalStack(over_memory(wiring=PostNorm), 2),
    "reformer": lambda: reformer(cross=True),
    "universal": lambda: universal(None, "pre_norm", cross=True),
    "universal-act": lambda: universal("accumulated", cross=True),
    "universal-interpolated": lambda: universal("interpolated", "pre_norm", cross=True),
}


def writer(make):
    decoder, positions = make()
    return LanguageModel(TARGETS, decoder, positions, dropout=0.0)


def translator(make):
    return Transformer(SOURCES, TARGETS, stack("post_norm", 1), make(), dropout=0.0)


CASES = [each for each in (*cases.CASES, *settings.CASES) if each.arguments in (batch, shared_batch, causal_text)]
CASES += [Case(f"writer-{name}", lambda make=make: writer(make), causal_text, called) for name, make in WRITERS.items()]
CASES += [Case(f"to-{name}", lambda make=make: translator(make), batch, called) for name, make in DECODERS.items()]
OFTEN = ("transformer-pre_norm", "language-model-learned", "writer-ssru", "writer-relative", "seq2seq-gru-1-additive")
SLOW = ("writer-local", "writer-universal", "to-spans-reversible", "seq2seq-lstm-1-dot", "reformer-language-model")


def cost(name):
    return () if name in OFTEN else (pytest.mark.slow,) if name in SLOW else (pytest.mark.release,)


@pytest.mark.parametrize("most", [None, pytest.param(5, marks=pytest.mark.slow)], ids=["growing", "static"])
@pytest.mark.parametrize("case", [pytest.param(each, id=each.name, marks=cost(each.name)) for each in CASES])
def test_steps_are_the_full_pass(case, most):
    """Of beams that change their parents at every step: each has the logits of its own history."""
    check_steps(build(case).layer, SOURCE, LENGTHS, FOLLOWING, PARENTS, most)
