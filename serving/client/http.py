"""Requests over HTTP/1.1 with connections that are kept, each with a deadline for the whole of it."""

import http.client
import json
import socket
import ssl
import threading
import weakref
from dataclasses import dataclass

from serving.client.errors import (
    AnswerError,
    ClientError,
    DeadlineError,
    UnavailableError,
    retry_seconds,
    shorten,
    status_error,
)

MOST_BYTES = 1 << 28  # of an answer
CHUNK = 1 << 16
BROKEN = (ConnectionError, http.client.RemoteDisconnected, http.client.IncompleteRead, socket.gaierror)


@dataclass(frozen=True)
class Reply:
    """What a server answered."""

    status: int
    headers: object
    body: bytes


class Http:
    """The requests to one server. Any number of threads may use it; each request has a connection of its own.

    Args:
        address: `serving.client.addresses.Address`.
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
        reply = self._request(path, content, deadline, cancellation)
        try:
            answer = json.loads(reply.body)
        except (ValueError, RecursionError):
            answer = None
        if reply.status != 200:
            reason = answer.get("error", answer.get("detail")) if isinstance(answer, dict) else None
            error = status_error(reply.status, self.where + path, reason or reply.body.decode("utf-8", "replace"))
            error.after = retry_seconds(reply.headers.get("Retry-After"))
            raise error
        if not isinstance(answer, dict):
            raise AnswerError(f"{self.where}{path} answered what is no JSON object: {shorten(reply.body[:200])}")
        return answer

    def _request(self, path, content, deadline, cancellation):
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
        return Reply(response.status, response.headers, b"".join(parts))

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
