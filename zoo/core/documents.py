"""JSON documents of a known form: read strictly, checked against types of msgspec, and described as a JSON Schema.

A form is a `TypedDict` whose entries are annotated with `msgspec.Meta`. Its `description` stands in the schema, and
says in messages what was expected. Keys that a form does not name are left alone. No framework is imported.
"""

import json
import typing
from typing import Annotated, Any, Literal, NotRequired

import msgspec
from msgspec import Meta

NESTING = 32  # the deepest nesting that is accepted
WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


class Mismatch(ValueError):
    """A value does not fit the form. The message names its place, what was expected and what was received."""


def mismatch(place, expected, value):
    """The `Mismatch` of a value; a long one is cut."""
    received = repr(value)
    received = received if len(received) <= 80 else f"{received[:77]}..."
    return Mismatch(f"{place or 'the whole document'} must be {expected}; received {received}")


def text(what, pattern):
    """The type of a string that matches the regular expression as a whole; `what` describes it in messages."""
    return Annotated[str, Meta(pattern=rf"^(?:{pattern})(?![\s\S])", description=what)]


def whole(least=0, most=2**53, what=None):
    """The type of a whole number between two bounds."""
    return Annotated[int, Meta(ge=least, le=most, description=what or f"a whole number from {least} to {most}")]


def parse(content):
    """The JSON value of bytes, as strict as JSON is: no key twice, no NaN, only text that UTF-8 can hold.

    Raises:
        ValueError: the bytes are not such a document; the message says why.
    """
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=once, parse_constant=refuse_constant)
        msgspec.json.decode(content)  # which also refuses half a surrogate, and numbers that are too large
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
    _check_nesting(value)
    return value


def once(pairs):
    """The dict of a JSON object's pairs, for `object_pairs_hook`; a key that occurs twice is refused."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return value


def refuse_constant(name):
    """For `parse_constant`: what Python accepts beyond JSON is refused."""
    raise ValueError(f"{name} is not a number in JSON")


def _check_nesting(value, depth=0):
    if depth > NESTING:
        raise ValueError(f"it is nested too deeply: at most {NESTING} levels are read")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_nesting(inner, depth + 1)


def check(value, form, place=""):
    """Check a JSON value against a form.

    Args:
        value: of `parse`, or of the same types.
        form: a type.
        place: the name of the value in messages, such as "index"; "" is the whole document.

    Raises:
        Mismatch: the value does not fit.
    """
    fault = _fault(value, form, place)
    if fault:
        raise fault


def _fault(value, form, place):
    """The `Mismatch` of the innermost value that does not fit; None if all does."""
    try:
        msgspec.convert(value, form)
        return None
    except (msgspec.ValidationError, OverflowError, RecursionError):
        pass
    form, what = _bare(form)
    inner, origin = [], typing.get_origin(form)
    if typing.is_typeddict(form) and isinstance(value, dict):
        hints = {
            key: _strip_not_required(hint) for key, hint in typing.get_type_hints(form, include_extras=True).items()
        }
        missing = [key for key in hints if key in form.__required_keys__ and key not in value]
        if missing:
            return Mismatch(f"{place or 'the whole document'} lacks {', '.join(missing)}")
        inner = [(value[key], hint, f"{place}.{key}".lstrip(".")) for key, hint in hints.items() if key in value]
    elif origin is dict and isinstance(value, dict):
        names, items = typing.get_args(form)
        inner = [(key, names, f"a key of {place}") for key in value]
        inner += [(item, items, f"{place}.{str(key)[:100]}") for key, item in value.items()]
    elif origin is list and isinstance(value, list):
        inner = [(item, typing.get_args(form)[0], f"{place}[{number}]") for number, item in enumerate(value)]
    faults = (_fault(*each) for each in inner)
    return next(filter(None, faults), None) or mismatch(place, what, value)


def _strip_not_required(hint):
    return typing.get_args(hint)[0] if typing.get_origin(hint) is NotRequired else hint


def _bare(form):
    """(the type without its annotations, what a message calls it)."""
    what = None
    while typing.get_origin(form) is Annotated:
        inner, *metas = typing.get_args(form)
        what = what or next((meta.description for meta in reversed(metas) if meta.description), None)
        form = inner
    if what is None and typing.get_origin(form) is Literal:
        what = " or ".join(map(repr, typing.get_args(form)))
    return form, what or WORDS.get(typing.get_origin(form) or form, "an object")


def json_schema(form, title) -> dict[str, Any]:
    """A form as a JSON Schema (draft 2020-12)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | msgspec.json.schema(form)
