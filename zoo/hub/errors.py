"""Failures of hubs. The command line exits with 1 for them; what a user got wrong is a `ValueError`, and exits with 2."""


class HubError(OSError):
    """A hub, or the cache, does not give what its index promises; the message says what to do."""


class Unreachable(HubError):
    """A hub cannot be reached, or may not be, because this process is offline."""
