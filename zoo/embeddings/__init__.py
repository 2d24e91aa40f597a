"""Keras: token ids and positions to vectors."""

from zoo.embeddings.axial import AxialPositions
from zoo.embeddings.concatenated import ConcatenatedPositions
from zoo.embeddings.convolutional import ConvolutionalPositions
from zoo.embeddings.entrance import Entrance
from zoo.embeddings.normalized import NormalizedPositions
from zoo.embeddings.positions import LearnedPositions, NoPositions, SinusoidalPositions, positions_before
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
