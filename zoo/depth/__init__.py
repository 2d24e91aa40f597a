"""Slot 4: how often is a block applied?"""

from zoo.depth.halting import Halting
from zoo.depth.reformer import make_reformer_stack
from zoo.depth.reversible import ReversibleStack
from zoo.depth.stack import Stack, make_stack
from zoo.depth.star import StarStack, make_star_stack
from zoo.depth.universal import UniversalStack, make_universal_stack

__all__ = [
    "Halting",
    "ReversibleStack",
    "Stack",
    "StarStack",
    "UniversalStack",
    "make_reformer_stack",
    "make_stack",
    "make_star_stack",
    "make_universal_stack",
]
