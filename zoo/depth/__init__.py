"""Slot 4: how often is a block applied?"""

from zoo.depth.reformer import make_reformer_stack
from zoo.depth.reversible import ReversibleStack
from zoo.depth.stack import Stack, make_stack

__all__ = ["ReversibleStack", "Stack", "make_reformer_stack", "make_stack"]
