"""Failures of hubs. The command line exits with 1 for them, and with 2 for wrong use, which is a `ValueError`."""


class HubError(OSError):
    """A hub, or the cache, does not give what its index promises; the message says what to do."""


class Unreachable(HubError):
    """A hub cannot be reached, or may not be, because this process is offline."""


class Untrusted(HubError):
    """The index of a hub is not one that a trusted key signed, or is not the newest that it could be."""


class Interrupted(Unreachable):
    """A hub stalled, cut the connection or was overloaded: another attempt may succeed."""
