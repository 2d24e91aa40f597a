"""A small schema language for JSON documents, which can also write itself as a JSON Schema.

It uses only the standard library, because reading an artefact must not need anything else. Each class can `check` a
value, which raises `Mismatch` with the place, what was expected and what was received, and can `describe` itself as a
JSON Schema (draft 2020-12).
"""

import math
import re
import sys
from dataclasses import dataclass, field

NESTING = 32  # the deepest nesting that is accepted


class Mismatch(ValueError):
    """A value does not fit the schema. The message names its place, what was expected and what was received."""


def mismatch(place, expected, value):
    received = repr(value)
    received = received if len(received) <= 80 else f"{received[:77]}..."
    return Mismatch(f"{place or 'the whole document'} must be {expected}; received {received}")


@dataclass(frozen=True)
class Anything:
    """Any JSON value that is not nested too deeply."""

    def check(self, value, place, depth=0):
        if depth > NESTING:
            raise Mismatch(f"{place[:200]} is nested more than {NESTING} levels deep")
        if isinstance(value, str):
            checked_text(value, place)
        elif isinstance(value, float) and not math.isfinite(value):
            raise mismatch(place, "a finite number", value)
        elif isinstance(value, dict):
            for key, item in value.items():
                checked_text(key, place)
                self.check(item, f"{place}.{key}", depth + 1)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                self.check(item, f"{place}[{number}]", depth + 1)

    def describe(self):
        return {}


def checked_text(value, place):
    """Refuse a lone surrogate, which JSON can hold but which can neither be printed nor be in the name of a file."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise mismatch(place, "text that UTF-8 can hold", value) from None


@dataclass(frozen=True)
class Text:
    """A string that matches the regular expression `pattern` as a whole; `what` describes it in error messages."""

    what: str = "a string"
    pattern: str = ""

    def check(self, value, place):
        if not isinstance(value, str) or (self.pattern and not re.fullmatch(self.pattern, value)):
            raise mismatch(place, self.what, value)
        checked_text(value, place)

    def describe(self):
        return {"type": "string"} | ({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})


@dataclass(frozen=True)
class Integer:
    """A whole number between `least` and `most`; `true` is not accepted as 1."""

    least: int = 0
    most: int = 2**53

    def check(self, value, place):
        if type(value) is not int or not self.least <= value <= self.most:
            raise mismatch(place, f"a whole number from {self.least} to {self.most}", value)

    def describe(self):
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Number:
    """A finite number."""

    def check(self, value, place):
        if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
            raise mismatch(place, "a finite number", value)

    def describe(self):
        return {"type": "number"}


@dataclass(frozen=True)
class Either:
    """A value that one of the `choices` accepts; `what` describes it in error messages."""

    what: str
    choices: tuple

    def check(self, value, place):
        for choice in self.choices:
            try:
                return choice.check(value, place)
            except Mismatch:
                continue
        raise mismatch(place, self.what, value)

    def describe(self):
        return {"anyOf": [choice.describe() for choice in self.choices]}


@dataclass(frozen=True)
class Nullable:
    """What `item` accepts, or null."""

    item: object

    def check(self, value, place):
        if value is not None:
            self.item.check(value, place)

    def describe(self):
        return {"anyOf": [self.item.describe(), {"type": "null"}]}


@dataclass(frozen=True)
class List:
    """A list of at least `least` values that `item` accepts, and with `unique` without repetitions."""

    item: object
    least: int = 0
    unique: bool = False

    def check(self, value, place):
        if not isinstance(value, list) or len(value) < self.least:
            raise mismatch(place, f"a list of at least {self.least} values" if self.least else "a list", value)
        for number, item in enumerate(value):
            self.item.check(item, f"{place}[{number}]")
        if self.unique and len(set(value)) < len(value):
            raise mismatch(place, "a list without repetitions", value)

    def describe(self):
        return {"type": "array", "items": self.item.describe(), "minItems": self.least, "uniqueItems": self.unique}


@dataclass(frozen=True)
class Map:
    """An object of any number of keys that `key` accepts, each with a value that `item` accepts."""

    key: Text
    item: object
    least: int = 0

    def check(self, value, place):
        if not isinstance(value, dict) or len(value) < self.least:
            raise mismatch(place, f"an object of at least {self.least} keys" if self.least else "an object", value)
        for key, item in value.items():
            self.key.check(key, f"a key of {place}")
            self.item.check(item, f"{place}.{key}")

    def describe(self):
        names, items = self.key.describe(), self.item.describe()
        return {"type": "object", "propertyNames": names, "additionalProperties": items, "minProperties": self.least}


@dataclass(frozen=True)
class Record:
    """An object with all `required` keys and any of the `optional` ones. Further keys may hold any JSON value."""

    required: dict
    optional: dict = field(default_factory=dict)

    def check(self, value, place):
        if not isinstance(value, dict):
            raise mismatch(place, "an object", value)
        missing = [key for key in self.required if key not in value]
        if missing:
            raise Mismatch(f"{place or 'the whole document'} lacks {missing}")
        for key, item in value.items():
            known = self.required.get(key) or self.optional.get(key) or Anything()
            known.check(item, f"{place}.{key}" if place else key)

    def describe(self):
        properties = {key: item.describe() for key, item in (self.required | self.optional).items()}
        return {"type": "object", "required": list(self.required), "properties": properties}
