"""Requests for answers over HTTP, both protocols: the body within its bounds, callers who leave, and the response."""

import asyncio
import math
import re

import orjson

from serving.server import tf_rest, v2
from serving.server.faults import AGAIN, Fault, invalid
from serving.server.tensors import said, text_of

JSON, BINARY = "application/json", "application/octet-stream"
BODIES = 32  # as many of the largest bodies may be in memory at once
PATH = re.compile(
    r"/(?:v2/models/([^/]+)(?:/versions/([^/]+))?/infer|v1/models/([^/]+?)(?:/versions/([^/]+))?:predict)"
)


class Asking:
    """An ASGI application of the two paths that are asked for answers.

    Args:
        service: `serving.server.service.Service`.
    """

    def __init__(self, service):
        self.service, self.limits = service, service.limits
        self.held = 0  # bytes of all bodies that are here, of requests that wait and of such that still come

    async def __call__(self, scope, receive, send):
        """Answer a request; returns whether its path is one of those."""
        found = PATH.fullmatch(scope["path"])
        if found is None:
            return False
        second, at, first, before = found.groups()
        parts = []
        try:
            headers = dict(scope["headers"])
            body = await self._body(headers, receive, parts)
            ask = self._infer if second is not None else self._predict
            status, more, content = await ask(headers, receive, body, second or first, at or before)
        except Fault as fault:
            status, more, content = refusal(fault)
        except Exception as error:  # a fault of ours: it is logged, and the caller is told
            self.service.log("failed", level="error", protocol="http", error=error)
            fault = Fault("broken", f"the server failed: {type(error).__name__}. Its log has more.")
            status, more, content = refusal(fault)
        finally:
            self.held -= sum(map(len, parts))
        fields = {"content-type": JSON, "content-length": str(len(content))} | more
        pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": content})
        return True

    async def _infer(self, headers, receive, body, name, version):
        size = headers.get(v2.HEADER.encode())
        asked = v2.Request(body, size and text_of(size))

        def wanted(found):
            return asked.signature, asked.tensors, asked.parameters

        answer = await self._unless_gone(receive, "v2-http", name, version, wanted, _seconds(headers))
        content, size = v2.response(asked, answer)
        return 200, {} if size is None else {"content-type": BINARY, v2.HEADER: str(size)}, content

    async def _predict(self, headers, receive, body, name, version):
        asked = tf_rest.Request(body)

        def wanted(found):
            return asked.signature, asked.tensors(found), asked.parameters

        answer = await self._unless_gone(receive, "v1-http", name, version, wanted, _seconds(headers))
        return 200, {}, tf_rest.response(asked, answer)

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

    async def _body(self, headers, receive, parts):
        """The body, within the bounds of size and time. Its parts are put into `parts` as they come."""
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Fault("encoded", "the body must not be compressed; send it as it is.")
        most, length = self.limits.bytes, headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > most:
            raise _too_large(most)
        size, more = 0, True
        try:
            async with asyncio.timeout(self.limits.reading):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Fault("gone", "the caller left.")
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    self.held += len(parts[-1])
                    if size > most:
                        raise _too_large(most)
                    if self.held > BODIES * most:
                        raise Fault("busy", "the requests that are here already fill the server's memory. Try again.")
        except TimeoutError:
            raise Fault("slow", f"the body did not come within {self.limits.reading:g} seconds.") from None
        return b"".join(parts)


def refusal(fault):
    """`(status, headers, content)` of a request that is not answered."""
    headers = {"retry-after": str(fault.wait)} if fault.kind in AGAIN else {}
    if fault.kind in ("too_large", "slow"):  # the rest of the body is not read
        headers["connection"] = "close"
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
            f"the header Request-Timeout must be a number of seconds, more than 0; received {said(text_of(value))}."
        )
    return seconds


def _too_large(most):
    return Fault("too_large", f"the body has more than {most} bytes. Send fewer texts at once.")
