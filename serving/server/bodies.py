"""JSON of requests, strictly, except that a text may hold what UTF-8 cannot: then that text alone is refused."""

import json
import math

import orjson

from serving.server.faults import invalid
from serving.server.tensors import said


def parse(body):
    """The object of a JSON document.

    orjson reads what is right. What it refuses is read once more by Python's parser, with bytes that are not UTF-8 and
    lone surrogates kept as such; the numbers NaN and Infinity, which JSON has not, stay refused.

    Raises:
        Fault: it is no JSON, or no object.
    """
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        try:
            text = bytes(body).decode("utf-8", "surrogateescape")
            found = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError):
            raise invalid(f"the body must be a JSON object; reading it failed: {error}.") from None
    if not isinstance(found, dict):
        raise invalid(f"the body must be a JSON object; received {said(found)}.")
    return found


def _finite(digits):
    value = float(digits)
    return value if math.isfinite(value) else _refuse(digits)


def _refuse(name):
    raise ValueError(f"{name} is not a number that JSON and a float have")


def member(held, name, kind, default=None, where="the body"):
    """A member of an object, of a type; `default` if it is not there or null.

    Raises:
        Fault: it is of another type.
    """
    value = held.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        word = {str: "a string", list: "a list", dict: "an object", int: "a whole number"}[kind]
        raise invalid(f"{name!r} in {where} must be {word}; received {said(value)}.")
    return value
