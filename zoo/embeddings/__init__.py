"""Keras: token ids and positions to vectors."""

from zoo.embeddings.entrance import Entrance
from zoo.embeddings.mixed import ConcatenatedPositions, ConvolutionalPositions, NormalizedPositions
from zoo.embeddings.positions import (
    AxialPositions,
    LearnedPositions,
    NoPositions,
    SinusoidalPositions,
    positions_before,
)
from zoo.embeddings.sentences import SentenceEmbedding
from zoo.embeddings.spelled import SpelledEmbedding
from zoo.embeddings.tokens import TokenEmbedding

__all__ = [
    "AxialPositions",
    "ConcatenatedPositions",
    "ConvolutionalPositions",
    "Entrance",
    "LearnedPositions",
    "NoPositions",
    "NormalizedPositions",
    "SentenceEmbedding",
    "SinusoidalPositions",
    "SpelledEmbedding",
    "TokenEmbedding",
    "positions_before",
]
