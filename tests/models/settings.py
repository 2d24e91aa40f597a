"""Models whose layers have other settings than their defaults, as cases of the contract battery."""

from tests.models.cases import SOURCES, TARGETS, batch, called, causal_text, stack, text
from zoo.check.laws import Case, length_mask, sequences
from zoo.depth import make_stack, make_universal_stack
from zoo.embeddings import LearnedPositions, NormalizedPositions, TokenEmbedding
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


def placed_classifier():
    """Of a universal stack that adds no positions."""
    encoder = make_universal_stack(3, 6, 2, 8, places=False)
    return Classifier(TARGETS, 3, encoder, LearnedPositions(11), pooling=Pooling("mean", "relu"))


def pooled(layer, arguments):
    return layer(**arguments)


def states(rows, time, noise):
    return {"x": sequences(rows, time, 6, noise), "mask": length_mask(rows, time)}


CASES = [
    Case("transformer-with-an-output", with_an_output, batch, called),
    Case("language-model-output-bias", biased_language_model, causal_text, called),
    Case("pooling-mean", lambda: Pooling("mean", "relu"), states, pooled),
    Case("pooling-first", lambda: Pooling("first"), states, pooled),
    Case("universal-classifier", placed_classifier, text, called),
    Case("classifier-narrow-embedding", narrow_classifier, text, called),
]
