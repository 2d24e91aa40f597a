"""Keras: what a user builds."""

from zoo.models.depth_adaptive import DepthAdaptiveTransformer
from zoo.models.encoder import Encoder, Pooling
from zoo.models.ensemble import Ensemble
from zoo.models.labelling import Classifier, PairClassifier, Tagger
from zoo.models.language_model import LanguageModel
from zoo.models.seq2seq import Seq2Seq
from zoo.models.transformer import Transformer

__all__ = [
    "Classifier",
    "DepthAdaptiveTransformer",
    "Encoder",
    "Ensemble",
    "LanguageModel",
    "PairClassifier",
    "Pooling",
    "Seq2Seq",
    "Tagger",
    "Transformer",
]
