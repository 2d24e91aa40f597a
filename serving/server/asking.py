"""Requests for answers over HTTP, both protocols: what they ask, callers who leave, and the response."""

import asyncio
import math
import re

import orjson

from serving.server import tf_rest, v2
from serving.server.faults import AGAIN, Fault, invalid
from serving.server.incoming import Body
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
    told = (text_of(headers.get(name, b"")) for name in (b"authorization", b"x-forwarded-for"))
    return door.caller(host, *told)


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
