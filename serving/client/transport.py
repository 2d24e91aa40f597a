"""Where a server is, and requests to it over HTTP/1.1 or gRPC, each with a deadline for the whole of it.

The scheme of an address says the protocol. Connections over HTTP are kept.
"""

import http.client
import json
import socket
import ssl
import threading
import weakref
from dataclasses import dataclass
from urllib.parse import urlsplit

from serving.client.errors import (
    AnswerError,
    ClientError,
    DeadlineError,
    UnavailableError,
    code_error,
    retry_seconds,
    shorten,
    status_error,
)

SCHEMES = {  # scheme -> protocol, transport, whether it is encrypted, port
    "http": ("v2", "http", False, 8080),
    "https": ("v2", "http", True, 443),
    "grpc": ("v2", "grpc", False, 8081),
    "grpcs": ("v2", "grpc", True, 443),
    "tfs+http": ("tfs", "http", False, 8501),
    "tfs+https": ("tfs", "http", True, 443),
    "tfs+grpc": ("tfs", "grpc", False, 8500),
    "tfs+grpcs": ("tfs", "grpc", True, 443),
}
MOST_BYTES = 1 << 28  # of an answer
CHUNK = 1 << 16
BROKEN = (ConnectionError, http.client.RemoteDisconnected, http.client.IncompleteRead, socket.gaierror)
OPTIONS = [
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # `serving.client.patience` decides
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


@dataclass(frozen=True)
class Address:
    """Where a server is, and what it speaks.

    Args:
        protocol: "v2", the Open Inference Protocol, or "tfs", that of TensorFlow Serving.
        transport: "http" or "grpc".
        secure: whether the connection is encrypted.
        host: a name or an address, without brackets.
        port: its port.
        path: what comes before the protocol's own paths, without a slash at its end; only of HTTP.
    """

    protocol: str
    transport: str
    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self):
        """`host:port`, as both transports write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(url):
    """The `Address` in a URL.

    >>> from serving.client.transport import parse_address
    >>> parse_address("tfs+grpc://models.example").authority
    'models.example:8500'

    Raises:
        ValueError: it holds none.
    """
    expected = f"Expected SCHEME://HOST:PORT with one of the schemes {', '.join(SCHEMES)}"
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is not the address of a server: {error}. {expected}.") from None
    if parts.scheme not in SCHEMES or not host or " " in host or not host.isprintable():
        raise ValueError(f"{url!r} is not the address of a server. {expected}, such as http://127.0.0.1:8080.")
    protocol, transport, secure, usual = SCHEMES[parts.scheme]
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment or parts.username is not None or path and transport == "grpc":
        raise ValueError(
            f"{url!r} has more than an address: leave out the user, the query, the fragment, and over gRPC the path. "
            "A secret belongs into a header."
        )
    return Address(protocol, transport, secure, host, usual if port is None else port, path)


class Http:
    """The requests to one server. Any number of threads may use it; each request has a connection of its own.

    Args:
        address: `serving.client.transport.Address`.
        headers: what is sent with each request, a dict.
    """

    def __init__(self, address, headers):
        self.address, self.headers = address, dict(headers)
        self.where = f"{'https' if address.secure else 'http'}://{address.authority}"
        self._tls = ssl.create_default_context() if address.secure else None
        self._lock, self._idle, self._closed = threading.Lock(), [], False
        # No `__del__`: among the garbage of a cycle, a socket may be finalised, and warn, before what closes it.
        weakref.finalize(self, close_all, self._idle)

    def json(self, path, body, deadline, cancellation):
        """The JSON that the server answers to a POST of `body`, or to a GET if it is None.

        Raises:
            ClientError: see `serving.client.errors`.
        """
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8")
        status, headers, content = self._request(path, content, deadline, cancellation)
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if status != 200:
            reason = answer.get("error", answer.get("detail")) if isinstance(answer, dict) else None
            error = status_error(status, self.where + path, reason or content.decode("utf-8", "replace"))
            error.after = retry_seconds(headers.get("Retry-After"))
            raise error
        if not isinstance(answer, dict):
            raise AnswerError(f"{self.where}{path} answered what is no JSON object: {shorten(content[:200])}")
        return answer

    def _request(self, path, content, deadline, cancellation):
        """`(status, headers, bytes)` of an answer."""
        deadline.check(self.where)
        connection, fresh = self._take_connection()
        try:
            return self._exchange(connection, path, content, deadline, cancellation)
        except BROKEN as error:
            if fresh or deadline.left == 0 or cancellation.cancelled.is_set():
                raise self._explain(error, deadline, cancellation) from error
        except OSError as error:
            raise self._explain(error, deadline, cancellation) from error
        # The server has closed a connection that was idle, which says nothing about the server.
        try:
            return self._exchange(self._open_connection(), path, content, deadline, cancellation)
        except OSError as error:
            raise self._explain(error, deadline, cancellation) from error

    def _exchange(self, connection, path, content, deadline, cancellation):
        def interrupt():
            sock = connection.sock
            if sock is not None:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        timer, is_kept = None, False
        try:
            with cancellation.on_cancel(interrupt):
                connection.timeout = deadline.left
                if connection.sock is None:
                    connection.connect()
                    if cancellation.cancelled.is_set():  # `cancel` came before there was a socket to shut down
                        raise ConnectionError("the request was cancelled")
                left = deadline.left
                if left is not None:
                    connection.sock.settimeout(max(left, 0.001))
                    timer = threading.Timer(left, interrupt)
                    timer.daemon = True
                    timer.start()
                reply = self._send(connection, path, content, deadline)
                is_kept = connection.sock is not None and not cancellation.cancelled.is_set()
                return reply
        except http.client.HTTPException as error:
            if isinstance(error, BROKEN) or deadline.left == 0 or cancellation.cancelled.is_set():
                raise ConnectionError(f"the answer broke off ({type(error).__name__})") from error
            raise AnswerError(f"{self.where} does not speak HTTP: {shorten(error)}") from error
        finally:
            if timer:
                timer.cancel()
            if is_kept:
                self._keep(connection)
            else:
                connection.close()

    def _send(self, connection, path, content, deadline):
        headers = {"Accept": "application/json"} | self.headers
        if content is not None:
            headers["Content-Type"] = "application/json"
        if deadline.left is not None:
            headers["Request-Timeout"] = f"{max(deadline.left, 0.001):.3f}"
        connection.request("GET" if content is None else "POST", self.address.path + path, content, headers)
        response = connection.getresponse()
        parts, size = [], 0
        while piece := response.read(CHUNK):
            size += len(piece)
            if size > MOST_BYTES:
                raise AnswerError(f"{self.where}{path} answered with more than {MOST_BYTES:,} bytes.")
            parts.append(piece)
        if response.length:
            raise ConnectionError(f"the answer broke off, {response.length} bytes before its end")
        return response.status, response.headers, b"".join(parts)

    def _explain(self, error, deadline, cancellation):
        if cancellation.cancelled.is_set():
            return ClientError("the request was cancelled.")
        if deadline.left == 0 or deadline.left is not None and isinstance(error, TimeoutError):
            return DeadlineError(f"{self.where} did not answer within {deadline.seconds:g} seconds.")
        if isinstance(error, ssl.SSLError):
            return ClientError(f"no secure connection to {self.where}: {shorten(error.reason or error)}")
        return UnavailableError(f"no connection to {self.where}: {shorten(error.strerror or error)}")

    def _take_connection(self):
        with self._lock:
            if self._idle:
                return self._idle.pop(), False
        return self._open_connection(), True

    def _open_connection(self):
        host, port = self.address.host, self.address.port
        if self._tls:
            return http.client.HTTPSConnection(host, port, context=self._tls)
        return http.client.HTTPConnection(host, port)

    def _keep(self, connection):
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self):
        """Close the connections that are idle; those in use are closed at the end of their requests."""
        with self._lock:
            self._closed = True
            close_all(self._idle)


def close_all(connections):
    """Close and forget connections."""
    while connections:
        connections.pop().close()


class Channel:
    """The requests to one server. Any number of threads may use it.

    Args:
        address: `serving.client.transport.Address`.
        headers: what is sent with each request, a dict.

    Raises:
        ImportError: grpcio is not installed.
    """

    def __init__(self, address, headers):
        import grpc

        self._grpc, self.where = grpc, f"grpc://{address.authority}"
        self._metadata = [(name.lower(), value) for name, value in headers.items()]
        if address.secure:
            self._channel = grpc.secure_channel(address.authority, grpc.ssl_channel_credentials(), OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address.authority, OPTIONS)

    def call(self, method, request, answer, deadline, cancellation):
        """The message that the server answers.

        Args:
            method: "/package.Service/Method".
            request: a message.
            answer: the class of the answer.
            deadline, cancellation: see `serving.client.patience`.

        Raises:
            ClientError: see `serving.client.errors`.
        """
        deadline.check(self.where)
        ask = self._channel.unary_unary(
            method, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        try:
            future = ask.future(request, timeout=deadline.left, metadata=self._metadata)
            with cancellation.on_cancel(future.cancel):
                return future.result()
        except (self._grpc.FutureCancelledError, self._grpc.RpcError) as error:
            if cancellation.cancelled.is_set() or not isinstance(error, self._grpc.Call):
                raise ClientError("the request was cancelled.") from error
            reason = code_error(error.code().name, self.where, error.details())
            reason.after = retry_seconds(dict(error.trailing_metadata() or ()).get("retry-after"))
            raise reason from error

    def close(self):
        """Close the connection."""
        self._channel.close()
