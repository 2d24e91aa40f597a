"""What a request has: its body, of bounded size and time, the JSON in it, and its parameters.

JSON is read strictly, except that a text may hold what UTF-8 cannot: then that text alone is refused.
"""

import asyncio
import contextlib
import json
import math
import re
import zlib

import orjson

from serving.server.faults import Fault, invalid
from serving.server.tensors import describe, quote, text_of

MOST_LISTS, MOST_VALUES = 1 << 16, 1 << 20  # of a body; a list costs so much more than a number
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


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
        self.encoding = headers.get(b"content-encoding", b"").strip().lower()
        self.is_packed = self.encoding in (b"gzip", b"x-gzip")

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


def parse(body):
    """The object of a JSON document.

    orjson reads what is right. What it refuses is read once more by Python's parser, with bytes that are not UTF-8 and
    lone surrogates kept as such; the numbers NaN and Infinity, which JSON has not, stay refused.

    Raises:
        Fault: it is no JSON, no object, or has so many values that making them takes longer than others may wait.
    """
    if len(body) > MOST_LISTS:
        _check_counts(bytes(body))
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        try:
            text = bytes(body).decode("utf-8", "surrogateescape")
            content = json.loads(text, parse_constant=_refuse, parse_float=_parse_float)
        except (ValueError, RecursionError):
            raise invalid(f"the body must be a JSON object; reading it failed: {error}.") from None
    if not isinstance(content, dict):
        raise invalid(f"the body must be a JSON object; received {describe(content)}.")
    return content


def _check_counts(body):
    """Check that a body has no more lists, objects and values than others may wait for."""
    if not (body.count(b"[") + body.count(b"{") > MOST_LISTS or body.count(b",") > MOST_VALUES):
        return
    lists = values = place = 0  # texts may have such characters, too: count what is outside of them
    for text in STRING.finditer(body + b'""'):
        between = body[place : text.start()]
        lists, values = lists + between.count(b"[") + between.count(b"{"), values + between.count(b",")
        if lists > MOST_LISTS or values > MOST_VALUES:
            raise Fault(
                "too_large",
                f"the body has more than {MOST_LISTS:,} lists or {MOST_VALUES:,} values. Send fewer texts at once, or "
                "numbers as binary tensors.",
            )
        place = text.end()


def _parse_float(digits):
    value = float(digits)
    return value if math.isfinite(value) else _refuse(digits)


def _refuse(name):
    raise ValueError(f"{name} is not a number that JSON and a float have")


def member(parent, name, kind, default=None, where="the body"):
    """A member of an object, of a type; `default` if it is not there or null.

    Raises:
        Fault: it is of another type.
    """
    value = parent.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        word = {str: "a string", list: "a list", dict: "an object", int: "a whole number"}[kind]
        raise invalid(f"{name!r} in {where} must be {word}; received {describe(value)}.")
    return value


class Parameters:
    """The parameters of a request, taken one by one; those that nobody takes are unknown.

    A number may come as a string, because parameters of gRPC have no type for fractions.
    """

    def __init__(self, values):
        self.values = dict(values or {})

    def take(self, name, kind):
        """The value of a parameter as a bool, int, float or str, or of a list a tuple of its strings or of the lines of
        a string; None if it is not given.

        Raises:
            Fault: it has another type.
        """
        value = self.values.pop(name, None)
        if kind is list and isinstance(value, str):
            return tuple(value.split("\n"))
        if kind is list and isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        if value is None or kind is not list and type(value) is kind:
            return value
        if isinstance(value, str) or kind is float and type(value) is int:
            try:
                return {"true": True, "false": False}[value.lower()] if kind is bool else kind(value)
            except (KeyError, ValueError, OverflowError):
                pass
        words = {bool: "true or false", int: "a whole number", float: "a number", list: "a string or a list of strings"}
        words = words.get(kind, "a string")
        raise invalid(f"the parameter {name} must be {words}; received {describe(value)}.")

    def check_empty(self, known):
        """Check that every parameter was taken; `known` are the names that the model takes.

        Raises:
            Fault: one was not.
        """
        if self.values:
            raise invalid(
                f"this model does not know the parameter {', '.join(map(quote, self.values))}; it takes "
                f"{', '.join(known) or 'none'}."
            )
