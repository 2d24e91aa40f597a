"""Slot 4: how often is a block applied?"""

from zoo.depth.stack import Stack, make_stack

__all__ = ["Stack", "make_stack"]
