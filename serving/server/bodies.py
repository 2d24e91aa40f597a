"""JSON of requests, strictly, except that a text may hold what UTF-8 cannot: then that text alone is refused."""

import json
import math
import re

import orjson

from serving.server.faults import Fault, invalid
from serving.server.tensors import describe

MOST_LISTS, MOST_VALUES = 1 << 16, 1 << 20  # of a body; a list costs so much more than a number
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


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
