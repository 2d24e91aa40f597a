"""Why a request is not answered: a kind, which both ports translate, and a sentence for the caller."""

STATUS = {  # kind -> status of HTTP, status of gRPC
    "invalid": (400, "INVALID_ARGUMENT"),
    "unknown": (401, "UNAUTHENTICATED"),  # the caller has no key
    "not_found": (404, "NOT_FOUND"),
    "wrong_method": (405, "UNIMPLEMENTED"),
    "slow": (408, "DEADLINE_EXCEEDED"),  # the caller did not send its whole request in time
    "too_large": (413, "INVALID_ARGUMENT"),
    "encoded": (415, "INVALID_ARGUMENT"),
    "gone": (499, "CANCELLED"),  # the caller left; nobody reads this
    "broken": (500, "INTERNAL"),
    "busy": (503, "UNAVAILABLE"),
    "not_ready": (503, "UNAVAILABLE"),
    "late": (504, "DEADLINE_EXCEEDED"),
}
AGAIN = ("busy", "not_ready")  # the same request may be answered a little later


class Fault(Exception):
    """A request that is not answered.

    Args:
        kind: a key of `STATUS`.
        sentence: what happened, what was expected, what was received, and how to mend it. It is sent to the caller and
            never logged, because it may quote what the caller has sent.
        wait: seconds after which trying again may help, if `kind` is in `AGAIN`.
    """

    def __init__(self, kind, sentence, wait=1):
        super().__init__(sentence)
        self.kind, self.sentence, self.wait = kind, sentence, wait
        self.http, self.grpc = STATUS[kind]


def invalid(sentence):
    """The fault of a request that will never be answered as it is."""
    return Fault("invalid", sentence)


def late(seconds):
    """The fault of a request whose answer is not ready in time."""
    return Fault(
        "late", f"the answer was not ready within {seconds:.3g} seconds. Send fewer texts, or allow more time."
    )
