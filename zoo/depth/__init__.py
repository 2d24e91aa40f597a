"""Slot 4: how often is a block applied?"""

from zoo.depth.reformer import make_reformer_stack
from zoo.depth.reversible import ReversibleStack
from zoo.depth.stack import Stack, make_stack
from zoo.depth.star import StarStack, make_star_stack

__all__ = ["ReversibleStack", "Stack", "StarStack", "make_reformer_stack", "make_stack", "make_star_stack"]
