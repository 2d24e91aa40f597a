"""Requests for answers over HTTP, both protocols: what they ask, callers who leave, and the response."""

import asyncio
import contextlib
import math
import re
import zlib

import orjson

from serving.server import tf_rest, v2
from serving.server.faults import AGAIN, Fault, invalid
from serving.server.tensors import describe, text_of

JSON, BINARY = "application/json", "application/octet-stream"
PATH = re.compile(
    r"/(?:v2/models/([^/]+)(?:/versions/([^/]+))?/infer|v1/models/([^/]+?)(?:/versions/([^/]+))?:predict)"
)


class Asking:
    """An ASGI application of the two paths that are asked for answers.

    Args:
        service: `serving.server.service.Service`.
    """

    def __init__(self, service):
        self.service, self.do = service, service.desk.do

    async def __call__(self, scope, receive, send):
        """Answer a request; returns whether its path is one of those."""
        parts = PATH.fullmatch(scope["path"])
        if parts is None:
            return False
        v2_name, v2_version, v1_name, v1_version = parts.groups()
        protocol, ask = ("v2-http", self._infer) if v2_name is not None else ("v1-http", self._predict)
        headers, name = dict(scope["headers"]), v2_name or v1_name
        body = Body(self.service.limits, headers, receive)
        try:
            with self.service.counting(protocol, name) as count, self.service.holding() as hold:
                count.caller = identify_caller(self.service.door, scope, headers)
                content = await body.read(hold)
                if body.is_packed:
                    count.size = self.service.limits.bytes
                    content = await self.do(count, body.unpack, content)
                    hold(len(content))
                count.size = len(content)
                status, extra, content = await ask(count, headers, receive, content, name, v2_version or v1_version)
        except Fault as fault:
            status, extra, content = refusal(fault)
        fields = {"content-type": JSON, "content-length": str(len(content))} | extra
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content, "more_body": not body.ended})
        if not body.ended:
            await body.drop()
            await send({"type": "http.response.body"})
        return True

    async def _infer(self, count, headers, receive, body, name, version):
        size = headers.get(v2.HEADER.encode())
        request = await self.do(count, v2.Request, body, size and text_of(size), self.service.limits.texts)

        def read_request(model):
            return request.signature, request.tensors, request.parameters, request.outputs

        answer = await self._answer_unless_gone(receive, count, name, version, read_request, _read_timeout(headers))
        content, size = await self.do(count, v2.response, request, answer)
        return 200, {} if size is None else {"content-type": BINARY, v2.HEADER: str(size)}, content

    async def _predict(self, count, headers, receive, body, name, version):
        request = await self.do(count, tf_rest.Request, body)

        def read_request(model):
            return request.signature, request.tensors(model), request.parameters, ()

        answer = await self._answer_unless_gone(receive, count, name, version, read_request, _read_timeout(headers))
        return 200, {}, await self.do(count, tf_rest.response, request, answer)

    async def _answer_unless_gone(self, receive, *request):
        """The answer of the service, unless the caller leaves before it is there: then it is given up."""
        me, gone = asyncio.current_task(), []

        async def watch():
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.append(True)
            me.cancel()

        watching = asyncio.create_task(watch())
        try:
            return await self.service.infer(*request)
        except asyncio.CancelledError:
            if not gone:
                raise
            me.uncancel()
            raise Fault("gone", "the caller left.") from None
        finally:
            watching.cancel()


def identify_caller(door, scope, headers):
    """The name of the caller of a request.

    Raises:
        Fault: a key is required, and the request has none that the server knows.
    """
    host = scope["client"][0] if scope.get("client") else ""
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    return door.identify(host, text_of(headers.get(b"authorization", b"")), text_of(forwarded))


def refusal(fault):
    """`(status, headers, content)` of a request that is not answered."""
    headers = {"unknown": {"www-authenticate": "Bearer"}, "encoded": {"accept-encoding": "gzip"}}.get(fault.kind, {})
    if fault.kind in AGAIN:
        headers = {"retry-after": str(fault.wait)}
    if fault.kind in ("too_large", "slow"):  # the rest of the body may be long
        headers = {"connection": "close"}
    return fault.http, headers, orjson.dumps({"error": fault.sentence})


def _read_timeout(headers):
    """The seconds that the caller is going to wait, by the header Request-Timeout; None without it."""
    value = headers.get(b"request-timeout")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise invalid(
            f"the header Request-Timeout must be a number of seconds, more than 0; received {describe(text_of(value))}."
        )
    return seconds


class Body:
    """The body of one request; `ended` says whether all of it has come.

    Args:
        limits: `serving.server.limits.Limits`. The time in which it must come begins now.
        headers: those of the request, a dict of bytes.
        receive: where its parts come from, as ASGI has it.
    """

    def __init__(self, limits, headers, receive):
        self.limits, self.headers, self.receive = limits, headers, receive
        self.ended, self.until = False, asyncio.get_running_loop().time() + limits.reading

    @property
    def encoding(self):
        return self.headers.get(b"content-encoding", b"").strip().lower()

    @property
    def is_packed(self):
        """Whether the body is packed with gzip."""
        return self.encoding in (b"gzip", b"x-gzip")

    def unpack(self, content):
        """The bytes that were packed. Never more than one beyond the bound is made of them.

        Raises:
            Fault: they are not of gzip, or too many.
        """
        unpacker, most = zlib.decompressobj(16 + zlib.MAX_WBITS), self.limits.bytes
        try:
            body = unpacker.decompress(content, most + 1)
        except zlib.error as error:
            raise invalid(f"the body is not packed with gzip, as its content-encoding says: {error}.") from None
        if len(body) > most:
            raise _size_fault(most)
        if not unpacker.eof or unpacker.unused_data:
            raise invalid("the body must be one whole member of gzip; it ends early, or something follows it.")
        return body

    async def read(self, hold):
        """The bytes of the body.

        Args:
            hold: a function that counts bytes among those of all requests, `serving.server.service.Service.holding`.

        Raises:
            Fault: it is otherwise packed, too large or too slow, there is no memory for it, or the caller has left.
        """
        if not self.is_packed and self.encoding not in (b"", b"identity"):
            raise Fault(
                "encoded",
                "the body may come as it is, or packed with gzip; received the content-encoding "
                f"{describe(text_of(self.encoding))}.",
            )
        most, length = self.limits.bytes, self.headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > most:
            raise _size_fault(most)
        parts, size = [], 0
        try:
            async with asyncio.timeout_at(self.until):
                while not self.ended:
                    parts.append(await self._receive_part())
                    size += len(parts[-1])
                    if size > most:
                        raise _size_fault(most)
                    hold(len(parts[-1]))
        except TimeoutError:
            raise Fault("slow", f"the body did not come within {self.limits.reading:g} seconds.") from None
        return b"".join(parts)

    async def drop(self):
        """Read and drop the rest of the body, within the same time and as many bytes as memory may hold.

        Many callers read an answer only when they have sent everything. If the connection is closed while bytes are
        there that nobody has read, it is reset, and such a caller never sees why it was refused.
        """
        left = self.limits.total_bytes
        with contextlib.suppress(TimeoutError, Fault):
            async with asyncio.timeout_at(self.until):
                while not self.ended and left > 0:
                    left -= len(await self._receive_part())

    async def _receive_part(self):
        message = await self.receive()
        if message["type"] != "http.request":
            self.ended = True
            raise Fault("gone", "the caller left.")
        self.ended = not message.get("more_body", False)
        return message.get("body", b"")


def _size_fault(most):
    return Fault("too_large", f"the body has more than {most} bytes. Send fewer texts at once.")
