"""Plain: text in and out of token ids; `serving.export.graph_tokenizers` does the same inside a TensorFlow graph."""

from zoo.text.base import BOS, EOS, PAD, UNK, Around
from zoo.text.json_tokenizers import BytePairs, WordPiece
from zoo.text.spelling import SubwordNoise, sentence_ends, spelling_features
from zoo.text.tokenizer import Tokenizer
from zoo.text.tokenizer_files import load_tokenizer

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "Around",
    "BytePairs",
    "SubwordNoise",
    "Tokenizer",
    "WordPiece",
    "load_tokenizer",
    "sentence_ends",
    "spelling_features",
]
