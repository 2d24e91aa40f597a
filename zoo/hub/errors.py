"""Failures of hubs. The command line exits with 1 for them, and with 2 for wrong use, which is a `ValueError`."""


class HubError(OSError):
    """A hub, or the cache, does not have what its index promises; the message says what to do."""


class Unreachable(HubError):
    """A hub cannot be reached, or may not be, because this process is offline."""


class Untrusted(HubError):
    """No trusted key signed the index of a hub, or the index may not be the newest."""


class Interrupted(Unreachable):
    """A hub stalled, cut the connection or was overloaded: another attempt may succeed."""
