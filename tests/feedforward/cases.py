"""The position-wise networks as cases of the contract battery."""

from tests.contracts import Case, sequences
from zoo.feedforward import ChunkedFeedForward, FeedForward


def positions(rows, time, noise):
    return {"x": sequences(rows, time, 5, noise)}


def called(layer, arguments):
    return layer(arguments["x"])


CASES = [
    Case("feedforward-relu", lambda: FeedForward(5, 11), positions, called, core=True),
    Case("feedforward-gelu", lambda: FeedForward(5, 11, "gelu"), positions, called),
    Case("chunked-2", lambda: ChunkedFeedForward(FeedForward(5, 11), 2), positions, called, core=True),
    Case("chunked-3-gelu", lambda: ChunkedFeedForward(FeedForward(5, 7, "gelu"), 3), positions, called),
]
