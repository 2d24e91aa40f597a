"""The body of an HTTP request, read within the bounds of size, time and memory, or dropped."""

import asyncio
import contextlib
import zlib

from serving.server.faults import Fault, invalid
from serving.server.tensors import describe, text_of


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
