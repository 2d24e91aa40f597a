"""Text in and out of token ids; `zoo.text.graph` does the same inside a TensorFlow graph."""

from zoo.text.noise import SubwordNoise
from zoo.text.sentences import sentence_ends
from zoo.text.special import BOS, EOS, PAD, UNK
from zoo.text.spelling import spelling_features
from zoo.text.tokenizer import Tokenizer

__all__ = ["BOS", "EOS", "PAD", "UNK", "SubwordNoise", "Tokenizer", "sentence_ends", "spelling_features"]
