"""What bounds a server: sizes of batches, of the queue and of requests, and times."""

from dataclasses import dataclass

BODIES = 32  # as many of the largest requests may be in memory at once


@dataclass(frozen=True)
class Batching:
    """How texts of several requests are put into one batch.

    Args:
        delay: the longest time in seconds that a text waits for others when a core is free for it.
        tokens: the most tokens of a batch, with its padding: number of texts times the longest.
        texts: the most texts of a batch; 1 answers texts one by one.
    """

    delay: float = 0.002
    tokens: int = 4096
    texts: int = 32

    def __post_init__(self):
        for name, value, good, expected in (
            ("the longest wait", 1e3 * self.delay, 0 <= self.delay <= 1, "between 0 and 1,000 milliseconds"),
            ("the tokens of a batch", self.tokens, self.tokens >= 1, "at least 1"),
            ("the texts of a batch", self.texts, self.texts >= 1, "at least 1"),
        ):
            if not good:
                raise ValueError(f"{name} must be {expected}; received {value:g}.")


@dataclass(frozen=True)
class Limits:
    """What a server takes on.

    Args:
        queue: the most texts of one model that wait; a request beyond them is refused and may be sent again.
        texts: the most texts of one request.
        bytes: the most bytes of one request, unpacked.
        deadline: seconds after which a request is given up unless it says a shorter time itself.
        reading: seconds in which a caller must have sent a request that it has begun.
        drain: seconds in which what is queued is finished when the server is told to stop.
        connections: the most connections over HTTP, and the most simultaneous calls over gRPC.
        connections_of_one: the most connections over HTTP of one address.
        written: the most tokens that one request writes, if it asks for more than one run of a graph writes.
    """

    queue: int = 4096
    texts: int = 1024
    bytes: int = 8 << 20
    deadline: float = 60.0
    reading: float = 30.0
    drain: float = 20.0
    connections: int = 900
    connections_of_one: int = 256
    written: int = 1 << 15

    @property
    def total_bytes(self):
        """The most bytes of all requests that are here, of such that wait and of such that still come."""
        return BODIES * self.bytes

    def __post_init__(self):
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"the limit {name!r} must be more than 0; received {value}.")
