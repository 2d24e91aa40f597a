"""Keras: the feed-forward slot: how is one position transformed?"""

from zoo.feedforward.chunked import ChunkedFeedForward
from zoo.feedforward.dense import FeedForward, GatedFeedForward
from zoo.feedforward.product_key import ProductKeyMemory

__all__ = ["ChunkedFeedForward", "FeedForward", "GatedFeedForward", "ProductKeyMemory"]
