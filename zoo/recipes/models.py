"""From a recipe to a built model."""

import random
from contextlib import contextmanager

from zoo.depth import make_reformer_stack, make_stack
from zoo.embeddings import AxialPositions, ConvolutionalPositions, LearnedPositions, SpelledEmbedding
from zoo.models import Classifier, LanguageModel, Seq2Seq, Tagger, Transformer
from zoo.seeds import shifted

SEEDS_PER_STACK = 1_000  # more than any stack draws


def make_model(recipe, *sizes):
    """A built model; the recipe's seed decides its weights and its dropout.

    Args:
        recipe: the `Recipe`.
        *sizes: of the vocabularies, (source, target) or the only one, and of the labels if there are any.
    """
    with _seeded(recipe.seed):
        model = _MAKERS[recipe.model](recipe, *sizes)
        model.build()
    return model


def _stack(recipe, number=0, cross=False):
    sizes = recipe.num_layers, recipe.units, recipe.num_heads, recipe.hidden_units
    seed = shifted(recipe.seed, SEEDS_PER_STACK * (number + 1))
    common = {"dropout": recipe.dropout, "cross": cross, "activation": recipe.activation, "seed": seed}
    if recipe.block != "reversible":
        return make_stack(*sizes, block=recipe.block, **common)
    return make_reformer_stack(*sizes, _hashing(recipe), recipe.feedforward_chunks, recipe.memory, **common)


def _hashing(recipe):
    """The settings of LSH attention, None for full attention."""
    if not recipe.hash_rounds:
        return None
    sizes = {"num_buckets": recipe.hash_buckets, "chunk_length": recipe.hash_chunk, "rounds": recipe.hash_rounds}
    return {**sizes, "resample": recipe.hash_resample}


def _dropout(recipe):
    return {"dropout": recipe.dropout, "seed": recipe.seed}


def _positions(recipe):
    """The layer, None for sinusoids."""
    if recipe.positions == "convolutional":
        return ConvolutionalPositions(recipe.convolution_width)
    if recipe.positions == "axial":
        return AxialPositions((-(-recipe.context // recipe.axial_columns), recipe.axial_columns))
    return LearnedPositions(recipe.context) if recipe.positions == "learned" else None


def _seq2seq(recipe, *sizes):
    attention = None if recipe.attention == "none" else recipe.attention
    shape = {"units": recipe.units, "cell": recipe.cell, "attention": attention, "num_layers": recipe.num_layers}
    return Seq2Seq(*sizes, **shape, **_dropout(recipe))


def _transformer(recipe, *sizes):
    stacks = _stack(recipe), _stack(recipe, number=1, cross=True)
    return Transformer(*sizes, *stacks, shared=recipe.shared_vocabulary, **_dropout(recipe))


def _language_model(recipe, vocab_size):
    return LanguageModel(vocab_size, _stack(recipe), _positions(recipe), **_dropout(recipe))


def _classifier(recipe, *sizes):
    return Classifier(*sizes, _stack(recipe), _positions(recipe), _embedding(recipe, sizes[0]), **_dropout(recipe))


def _tagger(recipe, *sizes):
    return Tagger(*sizes, _stack(recipe), _positions(recipe), _embedding(recipe, sizes[0]), **_dropout(recipe))


def _embedding(recipe, vocab_size):
    """The layer, None for plain vectors; `zoo.recipes.train` tells it the spelling of the pieces."""
    settings = {"dropout": recipe.spelling_alone, "seed": shifted(recipe.seed, SEEDS_PER_STACK - 1)}
    return SpelledEmbedding(vocab_size, recipe.units, **settings) if recipe.spelling else None


_MAKERS = {
    "seq2seq": _seq2seq,
    "transformer": _transformer,
    "language_model": _language_model,
    "classifier": _classifier,
    "tagger": _tagger,
}


@contextmanager
def _seeded(seed):
    """Initializers without a seed take one from Python's `random`: fix it here, and only here."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)
