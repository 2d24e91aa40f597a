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
        second, at, first, before = parts.groups()
        protocol, ask = ("v2-http", self._infer) if second is not None else ("v1-http", self._predict)
        headers, name = dict(scope["headers"]), second or first
        body = Body(self.service.limits, headers, receive)
        try:
            with self.service.counted(protocol, name) as count, self.service.holding() as hold:
                count.caller = caller(self.service.door, scope, headers)
                content = await body.read(hold)
                if body.packed:
                    count.size = self.service.limits.bytes
                    content = await self.do(count, body.unpacked, content)
                    hold(len(content))
                count.size = len(content)
                status, more, content = await ask(count, headers, receive, content, name, at or before)
        except Fault as fault:
            status, more, content = refusal(fault)
        fields = {"content-type": JSON, "content-length": str(len(content))} | more
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content, "more_body": not body.ended})
        if not body.ended:
            await body.drop()
            await send({"type": "http.response.body"})
        return True

    async def _infer(self, count, headers, receive, body, name, version):
        size = headers.get(v2.HEADER.encode())
        asked = await self.do(count, v2.Request, body, size and text_of(size), self.service.limits.texts)

        def wanted(model):
            return asked.signature, asked.tensors, asked.parameters, asked.outputs

        answer = await self._unless_gone(receive, count, name, version, wanted, _seconds(headers))
        content, size = await self.do(count, v2.response, asked, answer)
        return 200, {} if size is None else {"content-type": BINARY, v2.HEADER: str(size)}, content

    async def _predict(self, count, headers, receive, body, name, version):
        asked = await self.do(count, tf_rest.Request, body)

        def wanted(model):
            return asked.signature, asked.tensors(model), asked.parameters, ()

        answer = await self._unless_gone(receive, count, name, version, wanted, _seconds(headers))
        return 200, {}, await self.do(count, tf_rest.response, asked, answer)

    async def _unless_gone(self, receive, *request):
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


def caller(door, scope, headers):
    """Who asks.

    Raises:
        Fault: a key is wanted.
    """
    host = scope["client"][0] if scope.get("client") else ""
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    return door.caller(host, text_of(headers.get(b"authorization", b"")), text_of(forwarded))


def refusal(fault):
    """`(status, headers, content)` of a request that is not answered."""
    headers = {"unknown": {"www-authenticate": "Bearer"}, "encoded": {"accept-encoding": "gzip"}}.get(fault.kind, {})
    if fault.kind in AGAIN:
        headers = {"retry-after": str(fault.wait)}
    if fault.kind in ("too_large", "slow"):  # the rest of the body may be long
        headers = {"connection": "close"}
    return fault.http, headers, orjson.dumps({"error": fault.sentence})


def _seconds(headers):
    """What the header Request-Timeout says: seconds that the caller is going to wait."""
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
    def packed(self):
        """Whether it is packed with gzip."""
        return self.encoding in (b"gzip", b"x-gzip")

    def unpacked(self, content):
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
            raise _too_large(most)
        if not unpacker.eof or unpacker.unused_data:
            raise invalid("the body must be one whole member of gzip; it ends early, or something follows it.")
        return body

    async def read(self, hold):
        """The bytes of the body.

        Args:
            hold: a function that counts bytes among those of all requests, `serving.server.service.Service.holding`.

        Raises:
            Fault: it is packed otherwise, too large or too slow, there is no memory for it, or the caller has left.
        """
        if not self.packed and self.encoding not in (b"", b"identity"):
            raise Fault(
                "encoded",
                "the body may come as it is, or packed with gzip; received the content-encoding "
                f"{describe(text_of(self.encoding))}.",
            )
        most, length = self.limits.bytes, self.headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > most:
            raise _too_large(most)
        parts, size = [], 0
        try:
            async with asyncio.timeout_at(self.until):
                while not self.ended:
                    parts.append(await self._part())
                    size += len(parts[-1])
                    if size > most:
                        raise _too_large(most)
                    hold(len(parts[-1]))
        except TimeoutError:
            raise Fault("slow", f"the body did not come within {self.limits.reading:g} seconds.") from None
        return b"".join(parts)

    async def drop(self):
        """Read what is still to come and keep nothing of it, within the same time and as many bytes as memory may hold.

        Many callers read an answer only when they have sent everything. If the connection is closed while bytes are
        there that nobody has read, it is reset, and such a caller never sees why it was refused.
        """
        left = self.limits.together
        with contextlib.suppress(TimeoutError, Fault):
            async with asyncio.timeout_at(self.until):
                while not self.ended and left > 0:
                    left -= len(await self._part())

    async def _part(self):
        message = await self.receive()
        if message["type"] != "http.request":
            self.ended = True
            raise Fault("gone", "the caller left.")
        self.ended = not message.get("more_body", False)
        return message.get("body", b"")


def _too_large(most):
    return Fault("too_large", f"the body has more than {most} bytes. Send fewer texts at once.")
