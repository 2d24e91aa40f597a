"""Keras: the attention slot: how do positions exchange information?"""

from zoo.attention.adaptive_span import AdaptiveSpanAttention
from zoo.attention.alignment import AdditiveAttention, DotProductAttention
from zoo.attention.local import LocalAttention, RingLSHAttention
from zoo.attention.lsh import LSHAttention
from zoo.attention.multi_head import MultiHeadAttention
from zoo.attention.relative import RelativeAttention
from zoo.attention.ssru import SSRU
from zoo.attention.tensorized import MultiLinearAttention

__all__ = [
    "AdaptiveSpanAttention",
    "AdditiveAttention",
    "DotProductAttention",
    "LSHAttention",
    "LocalAttention",
    "MultiHeadAttention",
    "MultiLinearAttention",
    "RelativeAttention",
    "RingLSHAttention",
    "SSRU",
]
