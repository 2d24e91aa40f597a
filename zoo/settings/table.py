"""A table of a recipe: a msgspec Struct, filled from TOML with errors that name the setting and the nearest one.

A setting is a field of a `Table`, annotated with its kind and its meaning:
`units: Annotated[Positive, Doc("width of every state")] = 256`. msgspec checks the kind and writes the JSON schema.
"""

import difflib
import math
import types
import typing
from functools import cache, reduce
from operator import attrgetter
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Several = Annotated[int, Meta(ge=2)]
Even = Annotated[int, Meta(ge=2, multiple_of=2)]
NotNegative = Annotated[float, Meta(ge=0)]
AboveZero = Annotated[float, Meta(gt=0)]
BelowOne = Annotated[float, Meta(ge=0, lt=1)]
Between = Annotated[float, Meta(gt=0, lt=1)]
Share = Annotated[float, Meta(gt=0, le=1)]


def Doc(text):  # noqa: N802  reads as a class where it is used
    """The meaning of a setting, for `seqzoo list NAME`, commented recipes and the schema."""
    return Meta(description=text)


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


class NoEffect(ValueError):
    """A setting is given that nothing reads; the message begins with its name in the table."""


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that belong together. A subclass with a tag is one of several that may stand in the same place.

    Attributes:
        only: settings that are read only where another one of the table has one of these values, as
            `{"threshold": {"halting": ("accumulated",)}}`.
    """

    only: ClassVar[dict[str, dict[str, tuple]]] = {}

    def __post_init__(self):
        for name, why in self.unread(lambda name: getattr(self, name)).items():
            value = attrgetter(name)(self)
            if value != default(type(self), name):
                shown = plain(value) if isinstance(value, Table) else value
                raise NoEffect(f"{name}={shown!r} has no effect: {why}. Leave it out.")
        self.check()

    @classmethod
    def unread(cls, value_of):
        """`{name: why}` of the settings that are not read beside the others; `value_of(name)` gives their values.

        A name may be one of a table inside this one, such as "noise.rare".
        """
        reasons = {}
        for name, needs in cls.only.items():
            for other, allowed in needs.items():
                if value_of(other) not in allowed:
                    wanted = " or ".join(repr(each) for each in allowed)
                    reasons[name] = f"it is read where {other} is {wanted}; received {other}={value_of(other)!r}"
        return reasons

    def check(self):
        """Raise a `ValueError` where the settings of the table do not fit each other."""

    @property
    def tag(self):
        """The name under which the table was chosen; None where there is no choice."""
        return self.__struct_config__.tag


@cache
def fields(table):
    """`{name: msgspec FieldInfo}` of a table's class."""
    return {field.name: field for field in msgspec.structs.fields(table)}


def default(table, name):
    """The default of a setting; `msgspec.NODEFAULT` where it must be given. "noise.rare" is one of a table inside."""
    first, _, rest = name.partition(".")
    field = fields(table)[first]
    if rest:
        return default(nested_table(field.type), rest)
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def meaning(kind):
    """The description of a field's type; "" where it has none."""
    info = msgspec.inspect.type_info(kind)
    extra = info.extra_json_schema if isinstance(info, msgspec.inspect.Metadata) else None
    return (extra or {}).get("description", "")


def nested_table(kind):
    """The `Table` that a field holds, or None: `Target` of `Target | None`."""
    kind = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    tables = [each for each in options if isinstance(each, type) and issubclass(each, Table)]
    return tables[0] if tables else None


def by_tag(tables):
    """`{tag: class}` of the tables that may stand in one place."""
    return {table.__struct_config__.tag: table for table in tables}


def read(where, tables, value, reasons=None):
    """The table that `value` says.

    Args:
        where: its name in the recipe, such as "attention".
        tables: the classes that may stand there, the default first.
        value: a dict; or, where there is a choice, its tag alone.
        reasons: `{tag: why}` of what may not stand there.

    Raises:
        ValueError: a setting is unknown (the message names the nearest one), missing, or not of its kind, or the
            settings do not fit each other.
    """
    field = tables[0].__struct_config__.tag_field
    if isinstance(value, str) and field:
        value = {field: value} if value else {}
    if not isinstance(value, dict):
        place = f"the name of its {field} or a table with its settings" if field else "a table"
        raise ValueError(f"{where} must be {place}; received {value!r}.")
    table = _choose_table(where, tables, value.get(field), reasons or {}) if field else tables[0]
    known_fields, values = fields(table), {}
    for name, each in value.items():
        if name == field:
            continue
        if name not in known_fields:
            raise ValueError(_describe_unknown(where, table, name, tables))
        kind = known_fields[name].type
        if nested_table(kind):
            values[name] = read(f"{where}.{name}", (nested_table(kind),), each)
            continue
        try:
            values[name] = convert(each, kind)
        except ValueError as error:
            near = hint(each, choices(kind)) if isinstance(each, str) else ""
            raise ValueError(f"{where}.{name} {error}.{near}") from error
    missing = [name for name, one in known_fields.items() if one.required and name not in values]
    if missing:
        kinds = {name: known_fields[name].type for name in missing}
        lacking = "; ".join(f"{name}, {meaning(kind) or describe_kind(kind)}" for name, kind in kinds.items())
        raise ValueError(f"{where} lacks {lacking}.")
    try:
        return table(**values)
    except NoEffect as error:
        raise NoEffect(f"{where}.{error}") from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _describe_unknown(where, table, name, tables):
    """The message about a setting that the table does not have."""
    field, known = table.__struct_config__.tag_field, fields(table)
    owner = f"{where} = {table.__struct_config__.tag!r}" if field else where
    others = [f"{where} = {tag!r}" for tag, each in by_tag(tables).items() if name in fields(each)]
    near = f" It is one of {', '.join(others)}." if others else hint(name, known)
    return f"{owner} has no setting {name!r}.{near} It takes {', '.join(known) or 'none'}."


def _choose_table(where, tables, tag, reasons):
    known = by_tag(tables)
    if tag is None:
        return tables[0]
    if not isinstance(tag, str) or tag not in known:
        why = f" The reason: {reasons[tag]}." if str(tag) in reasons else hint(tag, known)
        raise ValueError(f"{where} must be one of {', '.join(known)}; received {tag!r}.{why}")
    return known[tag]


def select_read(tables, settings):
    """The part of `settings` that the table which they choose has, and that has an effect there."""
    field = tables[0].__struct_config__.tag_field
    if field and settings.get(field, tables[0].__struct_config__.tag) not in by_tag(tables):
        settings = {name: value for name, value in settings.items() if name != field}
    table = by_tag(tables).get(settings.get(field), tables[0])
    known = fields(table)
    result = {name: value for name, value in settings.items() if name in known or name == field}
    for name, each in known.items():
        if nested_table(each.type) and isinstance(result.get(name), dict):
            result[name] = select_read((nested_table(each.type),), result[name])
    unread = table.unread(lambda name: result.get(name, default(table, name)))
    return reduce(without, [tuple(name.split(".")) for name in unread], result)


def without(settings, path):
    """Nested dicts without the entry at a path, such as ("noise", "rare")."""
    first, *rest = path
    if not rest:
        return {name: each for name, each in settings.items() if name != first}
    inside = settings.get(first)
    return settings | {first: without(inside, rest)} if isinstance(inside, dict) else settings


def hint(name, among):
    """ " Did you mean ...?", or nothing where no name is like it."""
    near = nearest(name, among)
    return f" Did you mean {near!r}?" if near else ""


def nearest(name, among):
    """The name that is most like another one, or None."""
    near = difflib.get_close_matches(str(name), [str(each) for each in among], n=1, cutoff=0.4)
    return near[0] if near else None


def explain(where, table, tables=()):
    """Every setting that is read: a list of {"table", "setting", "value", "default", "meaning", "choices"}."""
    field, rows, inner = table.__struct_config__.tag_field, [], []
    if field:
        sentence = (type(table).__doc__ or "").strip().partition("\n")[0]
        rows.append((field, table.tag, tables[0].__struct_config__.tag, sentence, list(by_tag(tables))))
    idle = type(table).unread(lambda name: getattr(table, name))
    for name, each in fields(type(table)).items():
        value = getattr(table, name)
        if name in idle:
            continue
        if nested_table(each.type):
            inner += explain(f"{where}.{name}", value or nested_table(each.type)())
            continue
        usual = default(type(table), name)
        usual = None if usual is msgspec.NODEFAULT else usual
        rows.append((name, value, usual, meaning(each.type), list(choices(each.type))))
    keys = ("setting", "value", "default", "meaning", "choices")
    return [{"table": where} | dict(zip(keys, row, strict=True)) for row in rows] + inner


def plain(table):
    """The settings as a dict of what TOML knows: every one that is not None, the tag first."""
    field = table.__struct_config__.tag_field
    result = {field: table.tag} if field else {}
    for name in table.__struct_fields__:
        value = getattr(table, name)
        if isinstance(value, Table):
            result[name] = plain(value)
        elif value is not None:
            result[name] = list(value) if isinstance(value, tuple) else value
    return result
