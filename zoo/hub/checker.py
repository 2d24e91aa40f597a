"""Checks a JSON value against the part of JSON Schema that `index.schema.json` uses, with the standard library alone.

Whoever runs a model installs no library for schemas; and two descriptions of one format would drift apart. So the file
that editors and other programs read is also the table of this checker. A keyword that it does not know is an error, not
a check that is left out. Tests compare its verdicts with those of the library `jsonschema`.
"""

import math
import re

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) is int or type(value) is float and math.isfinite(value),
}
KEYWORDS = {  # keyword -> whether (its value, the value that is checked) fit; each holds for values of its type alone
    "const": lambda wanted, value: type(value) is type(wanted) and value == wanted,
    "pattern": lambda wanted, value: not isinstance(value, str) or re.search(wanted, value) is not None,
    "maxLength": lambda wanted, value: not isinstance(value, str) or len(value) <= wanted,
    "minimum": lambda wanted, value: not TYPES["number"](value) or value >= wanted,
    "maximum": lambda wanted, value: not TYPES["number"](value) or value <= wanted,
    "minItems": lambda wanted, value: not isinstance(value, list) or len(value) >= wanted,
    "maxItems": lambda wanted, value: not isinstance(value, list) or len(value) <= wanted,
    "minProperties": lambda wanted, value: not isinstance(value, dict) or len(value) >= wanted,
    "maxProperties": lambda wanted, value: not isinstance(value, dict) or len(value) <= wanted,
}
STRUCTURE = ("type", "anyOf", "required", "properties", "additionalProperties", "propertyNames", "items")
REMARKS = ("$schema", "$defs", "title", "description")


class Mismatch(ValueError):
    """A value does not fit the schema. The message names its place, what was expected and what was received."""


def check(value, schema, place="index", root=None):
    """Check `value` against `schema`.

    Args:
        value: a JSON value.
        schema: a dict of the keywords above. Its `description` says in messages what was expected.
        place: the name of the value in messages, such as "models[3].files".
        root: the whole schema, to which `$ref` refers.

    Raises:
        Mismatch: the value does not fit.
        KeyError: the schema has a keyword that this checker does not know.
    """
    root = root or schema
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    expected = schema.get("description") or f"of type {schema.get('type')}"
    for keyword, wanted in schema.items():
        if keyword in REMARKS:
            continue
        if keyword == "type":
            fits = any(TYPES[each](value) for each in ([wanted] if isinstance(wanted, str) else wanted))
        elif keyword == "anyOf":
            fits = any(_fits(value, each, place, root) for each in wanted)
        else:
            fits = keyword in STRUCTURE or KEYWORDS[keyword](wanted, value)
        if not fits:
            raise mismatch(place, expected, value)
    if isinstance(value, dict):
        _check_object(value, schema, place, root)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            check(item, schema["items"], f"{place}[{number}]", root)


def _check_object(value, schema, place, root):
    missing = [key for key in schema.get("required", ()) if key not in value]
    if missing:
        raise Mismatch(f"{place} lacks {', '.join(missing)}")
    known = schema.get("properties", {})
    for key, item in value.items():
        if "propertyNames" in schema:
            check(key, schema["propertyNames"], f"a key of {place}", root)
        further = known.get(key, schema.get("additionalProperties"))
        if further is not None:
            check(item, further, f"{place}.{key[:100]}", root)


def _fits(value, schema, place, root):
    try:
        check(value, schema, place, root)
    except Mismatch:
        return False
    return True


def mismatch(place, expected, value):
    """The `Mismatch` of a value; a long one is cut."""
    received = repr(value)
    received = received if len(received) <= 80 else f"{received[:77]}..."
    return Mismatch(f"{place} must be {expected}; received {received}")
