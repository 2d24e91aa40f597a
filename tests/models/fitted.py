"""Small models with a batch of each kind, and what trains them; for model.fit and for our own loop alike."""

import keras
import numpy as np

from tests.weights import randomised
from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.depth import GeometricExit, Stack, make_depth_adaptive_stack, make_stack
from zoo.feedforward import FeedForward, ProductKeyMemory
from zoo.models import Classifier, DepthAdaptiveTransformer, LanguageModel, Seq2Seq, Tagger, Transformer
from zoo.training import ChunkedCrossEntropy, DepthAdaptiveLoss, RowAdam, SmoothedCrossEntropy

VOCABULARY, ROWS, TIME = 11, 6, 5


def stack(cross=False):
    return make_stack(1, 8, 2, 8, dropout=0.0, cross=cross)


def span_stack():
    attention = AdaptiveSpanAttention(8, 2, max_span=16, ramp=4, penalty=0.1, initial_span=2)
    return Stack([PreNorm(attention, FeedForward(8, 8))])


def memory_stack():
    return Stack([PreNorm(MultiHeadAttention(8, 2), ProductKeyMemory(8, 23, 2, 3, 6, "layer", seed=1))])


def depth_adaptive():
    decoder = make_depth_adaptive_stack(2, 8, 2, hidden_units=8, exit=GeometricExit(2))
    return DepthAdaptiveTransformer(VOCABULARY, VOCABULARY, stack(), decoder, dropout=0.0)


SMOOTHED = (SmoothedCrossEntropy, {"smoothing": 0.1})
MODELS = {  # how it is made, what it is given, its loss
    "classifier": (lambda: Classifier(VOCABULARY, 3, stack(), dropout=0.0), "text", SMOOTHED),
    "tagger": (lambda: Tagger(VOCABULARY, 3, stack(), dropout=0.0), "words", SMOOTHED),
    "language_model": (lambda: LanguageModel(VOCABULARY, stack(), dropout=0.0), "running", SMOOTHED),
    "seq2seq": (lambda: Seq2Seq(VOCABULARY, VOCABULARY, units=8), "pairs", SMOOTHED),
    "transformer": (lambda: Transformer(VOCABULARY, VOCABULARY, stack(), stack(True), dropout=0.0), "pairs", SMOOTHED),
    "chunked": (
        lambda: LanguageModel(VOCABULARY, stack(), dropout=0.0),
        "running",
        (ChunkedCrossEntropy, {"chunks": 2, "smoothing": 0.1}),
    ),
    "depth_adaptive": (depth_adaptive, "pairs", (DepthAdaptiveLoss, {"price": 0.1, "alpha": 0.5})),
    "product_key": (lambda: LanguageModel(VOCABULARY, memory_stack(), dropout=0.0), "running", SMOOTHED),
    "spans": (lambda: LanguageModel(VOCABULARY, span_stack(), dropout=0.0), "running", SMOOTHED),
}


def make(name, seed=1):
    """(model, loss), the weights those of the seed."""
    maker, _, (loss, settings) = MODELS[name]
    keras.utils.set_random_seed(seed)
    model = maker()
    randomised(model, seed, 0.3, but=("gamma", "span"))
    return model, loss(**settings)


def data(name, seed=0):
    """(inputs, labels, weights) as `model.fit` takes them."""
    kind, draw = MODELS[name][1], np.random.default_rng(seed)
    ids = draw.integers(4, VOCABULARY, (ROWS, TIME)).astype("int32")
    lengths = draw.integers(1, TIME + 1, ROWS).astype("int32")
    weights = (np.arange(TIME) < lengths[:, None]).astype("float32")
    if name == "product_key":  # a row that is read where nothing counts has a gradient of zero: see RowAdam
        weights = np.maximum(weights, 0.5)
    if kind == "text":
        weights = np.linspace(0.5, 2.0, ROWS).astype("float32")
        return {"token_ids": ids, "lengths": lengths}, draw.integers(0, 3, ROWS).astype("int32"), weights
    if kind == "words":
        return {"token_ids": ids, "lengths": lengths}, (ids % 3).astype("int32"), weights
    if kind == "running":
        return {"token_ids": ids[:, ::-1].copy()}, ids, weights
    return {"source_ids": ids, "source_lengths": lengths, "target_ids": ids[:, ::-1].copy()}, ids, weights


def as_batch(inputs, labels, weights, rows=slice(None)):
    """The same as `zoo.training.make_steps` takes it."""
    return {name: value[rows] for name, value in (inputs | {"labels": labels, "weights": weights}).items()}


def optimizer(name, rate=0.05):
    """Plain gradient descent, whose steps show each gradient; the memory's own optimizer where there is one."""
    return RowAdam(rate, row_learning_rate=0.1) if name == "product_key" else keras.optimizers.SGD(rate)
