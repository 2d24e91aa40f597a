"""Keras: decoding over the step protocol, independent of any model."""

from zoo.decoding.beam import beam_search
from zoo.decoding.sampling import greedy, sample, uniforms

__all__ = ["beam_search", "greedy", "sample", "uniforms"]
