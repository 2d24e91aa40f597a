"""`Client`: a model on a server, in the place of a `Runtime`; and `AsyncClient`, for programs of asyncio."""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from numbers import Real
from typing import Any, Self

from serving.client.errors import ClientError
from serving.client.patience import Cancellation, Deadline, retry
from serving.client.protocols import PROTOCOLS, Model, fitting
from serving.client.transport import parse_address
from serving.client.work import Work, check_words, kind_of, results_of
from serving.lazy import later
from serving.runtime import doubt
from serving.runtime.reading import as_list, join_words, list_of

asyncio = later("asyncio")

HEADER = re.compile(r"[!#$%&'*+.^_`|~\w-]+", re.ASCII)
MOST_SECONDS = 1_000_000  # what every operating system can wait for


class Client:
    """A model on a server. Any number of threads may use it.

    The scheme of the address says the protocol:

    | scheme | protocol |
    |---|---|
    | `http://`, `https://` | Open Inference Protocol v2 as JSON: `seqzoo serve`, KServe, Triton |
    | `grpc://`, `grpcs://` | the same over gRPC |
    | `tfs+http://`, `tfs+https://` | TensorFlow Serving's REST |
    | `tfs+grpc://`, `tfs+grpcs://` | TensorFlow Serving's PredictionService |

    Args:
        url: the address, such as "http://127.0.0.1:8080".
        name: the name of the model on the server; "name@2" is its version 2, and of TensorFlow Serving "name@stable"
            the version with this label.
        timeout: seconds for each request, all of its tries together, at most 1,000,000; None waits for ever.
        tries: how often a request is sent if the server is unavailable (503, UNAVAILABLE, no connection). Between two
            tries it waits up to 0.1, 0.2, 0.4, ..., 5 seconds, at least half of it, and at least as long as the server
            asks, of which an hour counts at most.
        batch: the most texts in a request; a longer list is split.
        connections: how many requests of one list are under way at once.
        headers: what is sent with each request, such as {"Authorization": "Bearer ..."}.
        labels: the names of all labels in the order of their ids, for the probabilities of a `Label`, where the server
            does not say them. Without them only the best label has its probability.

    Raises:
        ValueError: the address is none, a number is out of its range, or a header cannot be sent.
        ImportError: the address is one of gRPC, and grpcio is not installed.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        timeout: float | None = 60.0,
        tries: int = 5,
        batch: int = 32,
        connections: int = 4,
        headers: Mapping[str, str] | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        address = parse_address(url)
        for what, value in (("tries", tries), ("batch", batch), ("connections", connections)):
            if type(value) is not int or value < 1:
                raise ValueError(f"{what} must be a whole number, at least 1; received {value!r}.")
        if timeout is not None and not (isinstance(timeout, Real) and 0 < timeout <= MOST_SECONDS):
            raise ValueError(
                f"timeout must be a number of seconds, more than 0 and at most {MOST_SECONDS:,}, or None; received "
                f"{timeout!r}."
            )
        headers = dict(headers or {})
        for header, content in headers.items():  # the content is not shown, for it may be a key
            if not (isinstance(header, str) and HEADER.fullmatch(header)):
                raise ValueError(f"a header has a name of letters, digits and hyphens; received {header!r}.")
            if not isinstance(content, str):
                raise ValueError(f"the header {header} must be a string; received {type(content).__name__}.")
            if not (content.isascii() and content.isprintable()):
                raise ValueError(
                    f"the header {header} must be printable characters of ASCII; received one with a line break, "
                    "another control character or one beyond ASCII. A key that was read from a file may end in a line "
                    "break."
                )
        if not isinstance(name, str) or not name.partition("@")[0]:
            raise ValueError(f"expected the name of a model on the server, such as dates@2; received {name!r}.")
        if isinstance(labels, str) or not all(isinstance(each, str) for each in labels):
            raise ValueError(f"labels must be the names of all labels, a list of strings; received {labels!r}.")
        name, _, version = name.partition("@")
        self.url, self.model = url, Model(name, version or None)
        self.timeout, self.tries, self.batch, self.connections = timeout, tries, batch, connections
        self._labels, self._metadata = tuple(labels), None
        self._protocol = PROTOCOLS[address.protocol, address.transport](address, headers)

    @property
    def metadata(self) -> Any:
        """The names of the model's inputs and outputs, and its versions, as the server says them.

        Raises:
            ClientError: there is no answer; see `serving.client.errors`.
        """
        return self._describe(Cancellation())

    def _describe(self, cancellation):
        if self._metadata is None:
            self._metadata = self._ask(self._protocol.describe, cancellation)
        return self._metadata

    @cached_property
    def _kind_and_sides(self) -> Any:
        """The `Kind` of the model, and the inputs that are asked."""
        return kind_of(self.metadata, self.url)

    @property
    def kind(self) -> str:
        """The kind of the model, as of `Runtime`; "generate" may be "continue", which a server does not distinguish."""
        return self._kind_and_sides[0].name

    @property
    def options(self) -> Sequence[str]:
        """The names of the options that `run` takes."""
        return self._kind_and_sides[0].remote_options if self._protocol.takes_parameters else ()

    @property
    def identity(self) -> dict[str, Any]:
        """What its answers depend on besides the options of `run`, as a dict that JSON holds."""
        versions = ", ".join(self.metadata.versions)
        return {"server": self.url, "name": self.model.name, "version": self.model.version or versions}

    def pin(self) -> None:
        """Ask only the version that answers now from here on, even when a newer one appears or a label moves."""
        versions, version = self.metadata.versions, self.model.version
        may_change = version is None or self._protocol.has_labels and not version.isdecimal()
        if may_change and versions:
            newest = max(versions, key=lambda each: (int(each) if each.isdecimal() else -1, each))
            self.model = Model(self.model.name, newest)

    def run(self, texts: Sequence[str | Sequence[str]], **options: Any) -> list[Any]:
        """A list with one result for each text, in the same order; as `serving.runtime.Runtime.run`.

        Args:
            texts: a list of strings. For a model that compares, each is "first TAB second"; for one that tags words it
                may be the list of its words. Where the server finds other words, such as the two of "New York", the
                result has an `error`.
            **options: over the Open Inference Protocol `beam`, `n_best`, `sampling`, `length` and the rules of a
                search, as of `Runtime.run`; and of models that label or tag `min_confidence`, over every protocol.

        Raises:
            TypeError: `texts` is a single string, or holds a value that is not a string.
            ValueError: the model takes no such option.
            ClientError: a request has no answer; see `serving.client.errors`. No result is returned then.
        """
        cancellation = Cancellation()
        work = self.plan(texts, options, cancellation)
        if len(work.requests) == 1:
            return work.join([self.answer(work, 0, cancellation)])
        with ThreadPoolExecutor(min(self.connections, max(1, len(work.requests)))) as pool:
            futures = [pool.submit(self.answer, work, place, cancellation) for place in range(len(work.requests))]
            try:
                return work.join([future.result() for future in futures])
            except BaseException:
                cancellation.cancel()
                raise

    def plan(self, texts, options, cancellation):
        """The `Work` for a list of texts. It asks the server about the model if that is not known yet."""
        texts = list_of(texts)
        self._describe(cancellation)
        texts, cut = join_words(texts) if self._kind_and_sides[0].by_words else (as_list(texts), [None] * len(texts))
        options = dict(options)
        least = options.pop("min_confidence", None)
        self._check(options, least)
        return Work(self, texts, cut, options, least)

    def answer(self, work, place, cancellation):
        """The results of request `place`."""
        texts, cut, columns, parameters = work.requests[place]
        reply = self._ask(self._protocol.infer, cancellation, columns, parameters)
        with fitting(self.url):
            results = results_of(self._kind_and_sides[0], texts, reply, self._labels or self.metadata.labels)
        return [check_words(self._kind_and_sides[0], *each) for each in zip(results, texts, cut, strict=True)]

    def _ask(self, what, cancellation, *arguments):
        deadline = Deadline(self.timeout)
        if cancellation.cancelled.is_set():
            raise ClientError("the request was cancelled.")
        return retry(lambda: what(self.model, *arguments, deadline, cancellation), deadline, self.tries, cancellation)

    def _check(self, options, least):
        kind = self._kind_and_sides[0]
        if least is not None:
            doubt.check_least(least, kind, self.model.name)
            if kind.writes:
                raise ValueError(
                    f"{self.url} does not say how sure {self.model.name} is of what it writes. Leave min_confidence "
                    "(--min-confidence) out, or ask a Runtime."
                )
        wrong = sorted(options.keys() - set(self.options))
        if wrong:
            raise ValueError(
                f"{self.model.name} on {self.url} takes {', '.join(self.options) or 'no option'}; received "
                f"{', '.join(wrong)}. Leave out {', '.join(wrong)}."
            )

    def close(self) -> None:
        """Close the connections."""
        self._protocol.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient:
    """A model on a server, for asyncio. Requests are sent by threads of its own, as many as it has connections.

    If the task that waits for `run` is cancelled, its requests are broken off, and the server learns of it.

    Args: as of `serving.client.Client`. `connections` bounds the requests of all callers together.

    Raises: as of `serving.client.Client`.
    """

    def __init__(self, url: str, name: str, **settings: Any) -> None:
        self.client = Client(url, name, **settings)
        self._pool = ThreadPoolExecutor(self.client.connections, "seqzoo-client")

    async def run(self, texts: Sequence[str | Sequence[str]], **options: Any) -> list[Any]:
        """The results, as of `serving.client.Client.run`."""
        loop, cancellation, waiting = asyncio.get_running_loop(), Cancellation(), []
        try:
            work = await loop.run_in_executor(self._pool, self.client.plan, texts, options, cancellation)
            waiting = [
                loop.run_in_executor(self._pool, self.client.answer, work, place, cancellation)
                for place in range(len(work.requests))
            ]
            return work.join(await asyncio.gather(*waiting))
        except BaseException:
            cancellation.cancel()
            for future in waiting:
                future.cancel()
            raise

    async def close(self) -> None:
        """Close the connections. Requests that are under way are broken off by their deadlines alone."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
