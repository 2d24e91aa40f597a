"""Models whose layers have other settings than their defaults, as cases of the contract battery."""

from tests.blocks.cases import reading
from tests.models.cases import SOURCES, TARGETS, batch, called, causal_text, stack, text
from zoo.attention import SSRU, MultiHeadAttention, RelativeAttention
from zoo.blocks import PostNorm, PreNorm
from zoo.check.laws import Case
from zoo.depth import ReversibleStack, Stack, make_stack, make_universal_stack
from zoo.embeddings import LearnedPositions, NoPositions, NormalizedPositions, TokenEmbedding
from zoo.feedforward import FeedForward, GatedFeedForward
from zoo.models import Classifier, LanguageModel, Pooling, Transformer


def with_an_output():
    """Another output matrix with a bias, unscaled vectors, RMS norms, and norms behind learned positions."""
    embeddings = TokenEmbedding(SOURCES, 6, False), TokenEmbedding(TARGETS, 6, False, tied=False, output_bias=True)
    own = {"activation": "gelu_tanh", "norm": "rms", "epsilon": 1e-6}
    stacks = [make_stack(1, 6, 2, 8, "pre_norm", cross=cross, **own) for cross in (False, True)]
    return Transformer(*embeddings, *stacks, positions=NormalizedPositions(LearnedPositions(11), 1e-12))


def biased_language_model():
    return LanguageModel(TARGETS, stack("macaron", 1), embedding=TokenEmbedding(TARGETS, 6, output_bias=True))


def narrow_classifier():
    """Of embeddings that are narrower than the states, and post-norm blocks with another epsilon."""
    encoder = make_stack(1, 6, 2, 8, "post_norm", activation="silu", epsilon=1e-12)
    positions = NormalizedPositions(LearnedPositions(11), 1e-12, units=6)
    embedding = TokenEmbedding(TARGETS, 4, scaled=False)
    return Classifier(TARGETS, 3, encoder, positions, embedding, pooling=Pooling("first", "tanh"))


def t5():
    """As T5 1.1: relative attention in the place of positions, gates, RMS norms, no biases, heads of another width."""

    def block(cross=False):
        over = MultiHeadAttention(6, 2, use_bias=False, head_units=4) if cross else None
        attention = RelativeAttention(6, 2, num_buckets=8, max_distance=6, head_units=4)
        return PreNorm(attention, GatedFeedForward(6, 8, "gelu_tanh"), over, norm="rms", epsilon=1e-6)

    embeddings = TokenEmbedding(SOURCES, 6, False), TokenEmbedding(TARGETS, 6, False, tied=False)
    stacks = Stack([block(), block()]), Stack([block(cross=True), block(cross=True)])
    return Transformer(*embeddings, *stacks, positions=NoPositions())


def student():
    """A decoder that remembers one vector a layer, as Marian's students have."""
    blocks = [PostNorm(SSRU(6), FeedForward(6, 8), MultiHeadAttention(6, 2)) for _ in range(2)]
    return Transformer(SOURCES, TARGETS, stack("post_norm", 1), Stack(blocks))


def both_streams():
    """A reversible stack whose last norm reads both streams, as in the Reformer's code."""
    blocks = [PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 8)) for _ in range(2)]
    return ReversibleStack(blocks, joined="both")


def placed_classifier():
    """Of a universal stack that adds no positions."""
    encoder = make_universal_stack(3, 6, 2, 8, places=False)
    return Classifier(TARGETS, 3, encoder, LearnedPositions(11), pooling=Pooling("mean", "relu"))


CASES = [
    Case("transformer-with-an-output", with_an_output, batch, called),
    Case("transformer-t5", t5, batch, called),
    Case("transformer-ssru", student, batch, called),
    Case("language-model-both-streams", lambda: LanguageModel(TARGETS, both_streams()), causal_text, called),
    Case("classifier-both-streams", lambda: Classifier(TARGETS, 3, both_streams()), text, called),
    Case("language-model-output-bias", biased_language_model, causal_text, called),
    Case("pooling-mean", lambda: Pooling("mean", "relu"), reading),
    Case("pooling-first", lambda: Pooling("first"), reading),
    Case("universal-classifier", placed_classifier, text, called),
    Case("classifier-narrow-embedding", narrow_classifier, text, called),
]
