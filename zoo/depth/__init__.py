"""Keras: the depth slot: how often is a block applied?"""

from zoo.depth.adaptive import DepthAdaptiveStack, make_depth_adaptive_stack
from zoo.depth.exits import ConfidenceExit, FixedExit, GeometricExit, MultinomialExit, SequenceExit
from zoo.depth.halting import Halting
from zoo.depth.reversible import ReversibleStack, make_reformer_stack
from zoo.depth.stack import Stack, make_stack
from zoo.depth.star import StarStack, make_star_stack
from zoo.depth.universal import UniversalStack, make_universal_stack

__all__ = [
    "ConfidenceExit",
    "DepthAdaptiveStack",
    "FixedExit",
    "GeometricExit",
    "Halting",
    "MultinomialExit",
    "ReversibleStack",
    "SequenceExit",
    "Stack",
    "StarStack",
    "UniversalStack",
    "make_depth_adaptive_stack",
    "make_reformer_stack",
    "make_stack",
    "make_star_stack",
    "make_universal_stack",
]
