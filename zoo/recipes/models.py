"""From a recipe to a built model."""

import random
from contextlib import contextmanager
from functools import partial

from zoo.attention import MultiHeadAttention
from zoo.depth.settings import SEEDS_PER_BLOCK
from zoo.depth.stack import BLOCKS
from zoo.embeddings import SentenceEmbedding, SpelledEmbedding
from zoo.models import Classifier, DepthAdaptiveTransformer, LanguageModel, Seq2Seq, Tagger, Transformer
from zoo.recipes.slots import make_layer
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
    seed = shifted(recipe.seed, SEEDS_PER_STACK * (number + 1))
    halved = recipe.block == "macaron"  # so that the number of parameters stays
    both_ways = recipe.model == "transformer" and not cross and recipe.attention["layer"] == "adaptive_span"
    hidden_units = recipe.hidden_units // 2 if halved else recipe.hidden_units

    def make_block(index):
        base = shifted(seed, SEEDS_PER_BLOCK * index)
        sizes = {"block": index + 1, "hidden_units": hidden_units, "seed": base}
        parts = {  # spans look back alone, so an encoder beside them has plain attention
            "attention": make_layer(recipe, "attention", plain=both_ways, **sizes),
            "feedforward": make_layer(recipe, "feedforward", **sizes),
        }
        if halved:
            parts["first"] = make_layer(recipe, "feedforward", **sizes)
        if cross:
            parts["cross_attention"] = MultiHeadAttention(recipe.units, recipe.num_heads)
        return BLOCKS[recipe.block](**parts, dropout=recipe.dropout, seed=base)

    place = {"cross": cross, "offset_seed": recipe.seed}  # of encoder and decoder one: a row's offsets agree
    return make_layer(recipe, "depth", make_block=make_block, seed=seed, **place)


def _dropout(recipe):
    return {"dropout": recipe.dropout, "seed": recipe.seed}


def _seq2seq(recipe, *sizes):
    attention = None if recipe.attention["layer"] == "none" else recipe.attention["layer"]
    shape = {"units": recipe.units, "cell": recipe.cell, "attention": attention, "num_layers": recipe.num_layers}
    return Seq2Seq(*sizes, **shape, **_dropout(recipe))


def _transformer(recipe, *sizes):
    stacks = _stack(recipe), _stack(recipe, number=1, cross=True)
    shared = {"shared": recipe.shared_vocabulary, "positions": make_layer(recipe, "positions")}
    if recipe.depth["layer"] == "depth_adaptive":
        return DepthAdaptiveTransformer(
            *sizes, *stacks, tied=recipe.depth.get("tied", True), **shared, **_dropout(recipe)
        )
    return Transformer(*sizes, *stacks, **shared, **_dropout(recipe))


def _language_model(recipe, vocab_size):
    return LanguageModel(vocab_size, _stack(recipe), make_layer(recipe, "positions"), **_dropout(recipe))


def _labeller(make, recipe, vocab_size, num_labels):
    parts = _stack(recipe), make_layer(recipe, "positions"), _embedding(recipe, vocab_size)
    return make(vocab_size, num_labels, *parts, **_dropout(recipe))


def _embedding(recipe, vocab_size):
    """The layer, None for plain vectors; `zoo.recipes.train` tells it what it has to know of the pieces."""
    if recipe.sentences:
        return SentenceEmbedding(vocab_size, recipe.units, shortest=recipe.sentences)
    settings = {"dropout": recipe.spelling_alone, "seed": shifted(recipe.seed, SEEDS_PER_STACK - 1)}
    return SpelledEmbedding(vocab_size, recipe.units, **settings) if recipe.spelling else None


_MAKERS = {
    "seq2seq": _seq2seq,
    "transformer": _transformer,
    "language_model": _language_model,
    "classifier": partial(_labeller, Classifier),
    "tagger": partial(_labeller, Tagger),
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
