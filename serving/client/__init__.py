"""Plain: asking a model that a server has, with the results of `serving.runtime.Runtime`.

It speaks the Open Inference Protocol v2 and TensorFlow Serving's protocols, each over HTTP and gRPC, and needs the
standard library; over gRPC also grpcio and protobuf. Nothing here opens a model or imports a framework.

client = Client("http://127.0.0.1:8080", "dates")
client.run(["3. März 2021"])[0].text
"""

from typing import TYPE_CHECKING

from serving.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` imports, for type checkers and editors
    from serving.client.client import AsyncClient as AsyncClient, Client as Client
    from serving.client.errors import (
        AnswerError as AnswerError,
        ClientError as ClientError,
        DeadlineError as DeadlineError,
        FailedError as FailedError,
        NotFoundError as NotFoundError,
        RefusedError as RefusedError,
        UnavailableError as UnavailableError,
    )

_HOMES = dict.fromkeys(("Client", "AsyncClient"), "serving.client.client") | dict.fromkeys(
    (
        "AnswerError",
        "ClientError",
        "DeadlineError",
        "FailedError",
        "NotFoundError",
        "RefusedError",
        "UnavailableError",
    ),
    "serving.client.errors",
)
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazily(__name__, _HOMES)
