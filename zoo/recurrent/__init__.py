"""Keras: the recurrent family: Keras' cells by name, any cell with any attention, encoders and the decoder."""

from zoo.recurrent.attention_cell import AttentionCell
from zoo.recurrent.cells import make_cell, make_layer
from zoo.recurrent.decoder import RecurrentDecoder
from zoo.recurrent.encoder import RecurrentEncoder, SelfAttentiveEncoder
from zoo.recurrent.reader import RecurrentReader

__all__ = [
    "AttentionCell",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentReader",
    "SelfAttentiveEncoder",
    "make_cell",
    "make_layer",
]
