"""Keras: the block slot: how are sub-layers wired around the residual stream?"""

from zoo.blocks.macaron import Macaron
from zoo.blocks.residual import PostNorm, PreNorm
from zoo.blocks.star import StarBlock

__all__ = ["Macaron", "PostNorm", "PreNorm", "StarBlock"]
