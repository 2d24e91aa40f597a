"""From a recipe to the parts of a training: tokenizers, batches, model, optimizer, loss, plan."""

import dataclasses
import random
from contextlib import contextmanager

import keras

from zoo.data import Batches
from zoo.models import Seq2Seq
from zoo.recipes import corpora
from zoo.text.tokenizer import Tokenizer
from zoo.training import Plan, SmoothedCrossEntropy, schedule


@dataclasses.dataclass(frozen=True)
class Data:
    """What the training sees. `digest` names the training corpus by its sha256."""

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: Batches
    valid: Batches
    digest: str


def make_data(recipe, directory=None):
    """Read the corpus, learn the two vocabularies from its training split, make the batches.

    Validation keeps every pair, however long.
    """
    sources, targets = corpora.read(recipe, "train", directory)
    tokenizers = make_tokenizers(recipe, sources, targets)

    def batches(texts, **kwargs):
        ids = [tokenizer.encode(side) for tokenizer, side in zip(tokenizers, texts, strict=True)]
        return Batches(*ids, batch_size=recipe.batch_size, seed=recipe.seed, **kwargs)

    train = batches((sources, targets), num_buckets=recipe.num_buckets, max_length=recipe.max_length or None)
    valid = batches(
        corpora.read(recipe, "valid", directory),
        num_buckets=max(1, recipe.num_buckets // 2),
        shuffle=False,
    )
    return Data(*tokenizers, train, valid, corpora.digest(sources, targets))


def make_tokenizers(recipe, sources, targets):
    """(source, target) tokenizers, learnt from the training texts alone."""

    def learn(side, texts):
        return Tokenizer.train(
            texts,
            getattr(recipe, f"{side}_vocab_size"),
            model_type=getattr(recipe, f"{side}_pieces"),
            normalization=getattr(recipe, f"{side}_normalization"),
            character_coverage=recipe.character_coverage,
            byte_fallback=recipe.byte_fallback,
        )

    return learn("source", sources), learn("target", targets)


def make_model(recipe, source_vocab_size, target_vocab_size):
    """A built model; the recipe's seed decides its weights and its dropout."""
    with _seeded(recipe.seed):
        model = Seq2Seq(
            source_vocab_size,
            target_vocab_size,
            units=recipe.units,
            cell=recipe.cell,
            attention=None if recipe.attention == "none" else recipe.attention,
            num_layers=recipe.num_layers,
            dropout=recipe.dropout,
            seed=recipe.seed,
        )
        model.build()
    return model


@contextmanager
def _seeded(seed):
    """Initializers without a seed take one from Python's `random`: fix it here, and only here."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def make_optimizer(recipe):
    """Adam on the recipe's schedule, clipped by the global norm."""
    rate = schedule(recipe.schedule, recipe.learning_rate, recipe.warmup, recipe.steps)
    return keras.optimizers.Adam(rate, global_clipnorm=recipe.clip_norm or None)


def make_loss(recipe):
    """The training loss."""
    return SmoothedCrossEntropy(recipe.label_smoothing)


def make_plan(recipe):
    """How long to train and how often to look."""
    return Plan(
        **{field.name: getattr(recipe, field.name, None) for field in dataclasses.fields(Plan)}
        | {"keep": recipe.average}
    )
