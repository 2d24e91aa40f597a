"""Kinds of values that a setting may have, and what a message calls them.

A setting is a field of a `Table`, annotated with its kind and its meaning:
`units: Annotated[Positive, Doc("width of every state")] = 256`. msgspec checks the kind and writes the JSON schema.
"""

import math
from typing import Annotated

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Even = Annotated[int, Meta(ge=2, multiple_of=2)]
NotNegative = Annotated[float, Meta(ge=0)]
AboveZero = Annotated[float, Meta(gt=0)]
BelowOne = Annotated[float, Meta(ge=0, lt=1)]
Between = Annotated[float, Meta(gt=0, lt=1)]
Share = Annotated[float, Meta(gt=0, le=1)]


def Doc(text):  # noqa: N802  reads as a class where it is used
    """The meaning of a setting, for `seqzoo list NAME`, commented recipes and the schema."""
    return Meta(description=text)


def at_least(least):
    """A whole number from `least` on."""
    return Annotated[int, Meta(ge=least)]


def convert(value, kind):
    """The value converted to its kind; a float may be given as a whole number.

    Raises:
        ValueError: it is not of the kind, is not finite, or is a whole number beyond 32 bits, which neither framework
            counts with; the message says in words what is expected.
    """
    try:
        result = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"must be {describe_kind(kind)}; received {value!r}") from error
    inner = result.values() if isinstance(result, dict) else result
    numbers = inner if isinstance(result, dict | list | tuple) else [result]
    if not all(math.isfinite(each) for each in numbers if isinstance(each, float)):
        raise ValueError(f"must be {describe_kind(kind)}; received {value!r}")
    if not all(abs(each) < 2**31 for each in numbers if isinstance(each, int)):
        raise ValueError(f"must be {describe_kind(kind)}, and at most {2**31 - 1}; received {value!r}")
    return result


def describe_kind(kind):
    """What is expected of a value of this kind, such as "a whole number of at least 1"."""
    return _describe(msgspec.inspect.type_info(kind))


def choices(kind):
    """The words that a setting chooses from; empty where it is something else."""
    info = msgspec.inspect.type_info(kind)
    info = info.type if isinstance(info, msgspec.inspect.Metadata) else info
    return info.values if isinstance(info, msgspec.inspect.LiteralType) else ()


def _describe(info):
    inspect = msgspec.inspect
    match info:
        case inspect.Metadata():
            return _describe(info.type)
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, info.values))}"
        case inspect.IntType() | inspect.FloatType():
            return _describe_number(info)
        case inspect.StrType():
            return "a text in quotation marks"
        case inspect.ListType() | inspect.VarTupleType():
            return f"a list, each item {_describe(info.item_type)}"
        case inspect.DictType():
            return f"a table whose values are each {_describe(info.value_type)}"
        case inspect.UnionType():
            kinds = [each for each in info.types if not isinstance(each, inspect.NoneType)]
            return " or ".join(_describe(each) for each in kinds)
    return f"a {type(info).__name__.removesuffix('Type').lower()}"


def _describe_number(info):
    whole = isinstance(info, msgspec.inspect.IntType)
    if whole and info.multiple_of:
        name = "an even whole number" if info.multiple_of == 2 else f"a multiple of {info.multiple_of}"
    else:
        name = "a whole number" if whole else "a number"
    bounds = ((info.ge, "of at least"), (info.gt, "above"), (info.le, "at most"), (info.lt, "below"))
    limits = [f"{sign} {bound:g}" for bound, sign in bounds if bound is not None]
    return " ".join([name, " and ".join(limits)]) if limits else name
