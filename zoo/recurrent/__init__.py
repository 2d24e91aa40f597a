"""Keras: the recurrent family: Keras' cells by name, any cell with any attention, encoders and the decoder."""

from zoo.recurrent.cells import AttentionCell, make_cell, make_layer
from zoo.recurrent.decoder import RecurrentDecoder
from zoo.recurrent.encoder import RecurrentEncoder, RecurrentReader, SelfAttentiveEncoder

__all__ = [
    "AttentionCell",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentReader",
    "SelfAttentiveEncoder",
    "make_cell",
    "make_layer",
]
