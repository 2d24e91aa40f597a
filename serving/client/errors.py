"""What can go wrong between a client and a server; every error says who answered what."""

from serving.runtime.errors import ServingError


class ClientError(ServingError):
    """The server gave no answer that can be used. The classes below say why."""

    after = 0.0  # seconds that the server asked to wait before another try


class UnavailableError(ClientError):
    """Nobody listens, the connection broke, or the server has no room (503, UNAVAILABLE, too many calls over gRPC).

    Only this is tried again.
    """


class DeadlineError(ClientError):
    """The answer did not come in time. It is not known whether the server has worked on it."""


class RefusedError(ClientError):
    """The server refuses the request as it is: the same one would be refused again."""


class NotFoundError(ClientError):
    """The server has no such model or version."""


class FailedError(ClientError):
    """The server failed while it worked on the request."""


class AnswerError(ClientError):
    """The answer does not follow the protocol, or does not fit the question: another server, or a broken one."""


HTTP = {
    404: NotFoundError,
    408: DeadlineError,
    503: UnavailableError,
    504: DeadlineError,
}
GRPC = {
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": DeadlineError,
    "NOT_FOUND": NotFoundError,
    "INTERNAL": FailedError,
    "UNKNOWN": FailedError,
    "DATA_LOSS": FailedError,
    "ABORTED": FailedError,
    "CANCELLED": UnavailableError,  # by the server: gRPC's own bound of calls says no more than this
}
FULL = "Concurrent RPC limit"  # what gRPC's server for Python says, with RESOURCE_EXHAUSTED, when it has no room
MOST_SECONDS = 3600.0
MOST_QUOTED = 500  # characters of what a server says


def status_error(status, where, reason):
    """The error of a status of HTTP that is none of success."""
    kind = HTTP.get(status) or (FailedError if status >= 500 else RefusedError)
    return kind(f"{where} answered {status}: {shorten(reason)}")


def code_error(code, where, reason):
    """The error of a status code of gRPC, such as "NOT_FOUND"."""
    kind = UnavailableError if FULL in str(reason) and code == "RESOURCE_EXHAUSTED" else GRPC.get(code, RefusedError)
    return kind(f"{where} answered {code}: {shorten(reason)}")


def retry_seconds(value):
    """How long a server asks to wait, by its header `Retry-After`, at most an hour; 0 if it says a date or nothing."""
    try:
        return min(max(0.0, float(value or 0)), MOST_SECONDS)
    except ValueError:
        return 0.0


def shorten(reason):
    """What a server says, short and in one line."""
    reason = " ".join(str(reason).split()) or "no reason"
    return reason if len(reason) <= MOST_QUOTED else f"{reason[:MOST_QUOTED]}..."
