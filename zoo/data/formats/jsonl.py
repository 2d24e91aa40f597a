"""JSON lines: one object a line, as `DataFrame.to_json(orient="records", lines=True)` and Hugging Face write them.

A line may also be an array of values; then its places are the columns, which their content tells. A document that is
one array of such records, over as many lines as it likes, is read record by record.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice

from zoo.data.formats.base import Format, Layout, Problems, join_some, quote, say_columns
from zoo.data.formats.columns import find_columns, missing_column
from zoo.data.formats.names import by_names, is_left_out, verdict_column
from zoo.data.formats.opening import first_lines, lines_of

_LOOKED_AT = 100
_ABSENT = object()
_OF_RECORDS = re.compile(r"\s*\[\s*(?:$|[\[{])")  # how an array of records begins
_BETWEEN = re.compile(r"[\s,]*")
_CONVERT = (
    " Convert it with `jq -c . in.json > out.jsonl`, or in pandas with to_json(path, orient='records', lines=True)."
)
_WITHIN = (
    " If the records are a list of one object, such as 'data', take them out: `jq -c '.data[]' in.json > out.jsonl`."
)


class JsonRows(Format):
    """One array of texts and numbers a line, such as `["a good film", "pos"]`."""

    name, suffixes = "jsonrows", (".jsonl", ".ndjson", ".json")

    def claims(self, files, request):
        """The first line is an array of values."""
        lines = iter(first_lines(files[0], request, _LOOKED_AT))
        return _is_row(next((value for _, value in decode_lines(files[0], lines, Problems())), None))

    def layout(self, files, request):
        numbered = decode_lines(files[0], iter(first_lines(files[0], request, _LOOKED_AT)), Problems())
        rows = [list(map(_as_text, value)) for _, value in numbered if _is_row(value)]
        if not rows:
            raise ValueError(
                f"{files[0]}: none of the first lines is an array of texts and numbers; expected one a line, such as "
                '["a good film", "pos"]. Name the format that the file has.'
            )
        columns = find_columns(files[0], [row for row in rows if len(row) == len(rows[0])], request)
        by_role = {role: place + 1 for role, place in columns.at.items()}
        why = f"an array of {len(rows[0])} values on each line; {columns.why}"
        return Layout(by_role, why, {"header": columns.header, "at": columns.at, "width": len(rows[0])})

    def rows(self, files, request, layout, problems):
        at, width = layout.details["at"], layout.details["width"]
        places = [at[role] for role in request.ordered(at)]
        for number, (line, value) in enumerate(decode_lines(files[0], lines_of(files[0], request), problems)):
            if layout.details["header"] and not number:
                continue
            if not _is_row(value) or len(value) != width:
                message = (
                    f"{quote(value)} is no array of {width} texts and numbers, as the first line is. Mend the line."
                )
                problems.add(files[0], line, message)
                continue
            yield line, tuple(_as_text(value[place]) for place in places)


def _is_row(value):
    return isinstance(value, list) and value != [] and all(isinstance(each, str | int | float | None) for each in value)


def _as_text(value):
    """A value as a text: as JSON writes it, and nothing for null."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


class Jsonl(Format):
    """One object a line; the value of an object inside it is called `outer.inner`."""

    name, suffixes = "jsonl", (".jsonl", ".ndjson", ".json")

    def layout(self, files, request):
        path = files[0]
        records, wrong = list(objects(path, iter(first_lines(path, request, _LOOKED_AT)), Problems())), None
        if not records:
            records = list(islice(objects(path, lines_of(path, request), problems := Problems()), 1))
            if not records:
                problems.check()
                raise ValueError(f"{path} is empty; expected one JSON object a line.")
        for line, record in records:
            try:
                layout = keyed_layout(path, line, record, request)
                layout.details["verdict"] = verdict_column(
                    [each for _, each in records], layout.details["keys"], request
                )
                return layout
            except ValueError as error:  # this one may lack what others have
                wrong = wrong or error
        raise wrong

    def rows(self, files, request, layout, problems):
        path, keys, verdict = files[0], layout.details["keys"], layout.details["verdict"]
        for line, record in objects(path, lines_of(path, request), problems):
            if is_left_out(record, verdict, problems, path, line):
                continue
            values = tuple(value_of(record, key) for key in keys)
            if _ABSENT in values:
                absent = keys[values.index(_ABSENT)]
                message = (
                    f"the object has no {absent!r}, only {quote(', '.join(map(str, record)))}; expected it in every "
                )
                problems.lack(repr(absent), f"{message}line. Add it, or delete the line.", path, line)
                continue
            yield line, values


def keyed_layout(path: str, line: int, record: dict, request) -> Layout:
    """The layout of records with names, by the first one; a number means a name's place in it, counted from 1."""
    inner = flatten(record)
    names, places = list(inner), {}
    for role, column in request.columns.items():
        if role == "header":
            continue
        if isinstance(column, str) and (column in names or not column.isdigit()):
            if column not in names:
                raise missing_column(path, role, column, names)
            places[role] = names.index(column)
        elif 1 <= int(column) <= len(names):
            places[role] = int(column) - 1
        else:
            raise missing_column(path, role, column, names)
    missing = tuple(role for role in request.roles if role not in places)
    known = _find_known(record, names, request.kind, missing)
    places |= {role: at for role, at in known.items() if at not in places.values()}
    missing = [role for role in request.roles if role not in places]
    if missing:
        is_whole = any(isinstance(own, list) and isinstance(own[0], dict | list) for own in inner.values() if own)
        raise ValueError(
            f"{path}:{line}: which entry is {' and which is '.join(missing)}? The first record has "
            f"{join_some([f'{name} ({quote(value, 30)})' for name, value in inner.items()])}. Say it by name: "
            f"{say_columns(dict.fromkeys(missing, ...))}.{_WITHIN if is_whole else ''}"
        )
    columns = {role: names[places[role]] for role in request.ordered(places)}
    why = (
        f"the columns were given: {columns}"
        if request.columns
        else f"the names of the first record: {join_some(names)}"
    )
    return Layout(columns, why, {"keys": list(columns.values())})


def _find_known(record, names, kind, missing):
    """Role -> place in `names`, of the roles that names tell: those of the record, or those of one object inside it.

    An inner object counts if it alone has all of the roles, and the record has none: a label beside another text, such
    as that of its author, is not the text's.
    """
    known = by_names(names if kind == "pairs" else [name if name in record else "" for name in names], kind, missing)
    if known or not missing:
        return known
    inside = [
        by_names(
            [name.removeprefix(f"{outer}.") if name.startswith(f"{outer}.") else "" for name in names], kind, missing
        )
        for outer, own in record.items()
        if isinstance(own, dict)
    ]
    whole = [each for each in inside if len(each) == len(missing)]
    return whole[0] if len(whole) == 1 else {}


def objects(path: str, lines, problems: Problems) -> Iterator[tuple[int, dict]]:
    """(line, object) of every line that is no blank one; adds lines that are no JSON object."""
    for line, value in decode_lines(path, lines, problems):
        if isinstance(value, dict):
            yield line, value
        else:
            problems.add(
                path,
                line,
                f"{quote(value)} is no JSON object; expected one object a line, such as "
                '{"text": "good", "label": "pos"}.',
            )


def decode_lines(path: str, lines, problems: Problems) -> Iterator[tuple[int, object]]:
    """(line, value) of every line that is no blank one; adds lines that are no JSON.

    Where the file is one array of records, those are the values, each with the line on which it begins.
    """
    first = None
    for line, text in lines:
        if not text.strip():
            problems.blank(path, line)
            continue
        if first is None and _OF_RECORDS.match(text):
            yield from _elements(path, line, "\n".join([text, *(other for _, other in lines)]), problems)
            return
        first = line
        if text.strip() == "{":
            problems.add(
                path,
                line,
                f"one JSON document over several lines begins here; expected one object a line.{_CONVERT}{_WITHIN}",
            )
            return
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            column, reason = getattr(error, "colno", 1), getattr(error, "msg", str(error))
            near = quote(text[max(0, column - 20) :])
            problems.add(
                path,
                line,
                f"no JSON at character {column} ({reason}): {near}; expected one object a line. Mend the line.",
            )
            continue
        yield line, _record_of(value)


def _elements(path, line, text, problems):
    """(line, value) of the elements of an array that begins on this line."""
    decoder, at, end = json.JSONDecoder(), text.index("[") + 1, 0
    while True:
        at = _BETWEEN.match(text, at).end()
        line, end = line + text.count("\n", end, at), at
        if text.startswith("]", at) and not text[at + 1 :].strip():
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            message = (
                f"no JSON ({getattr(error, 'msg', error)}): {quote(text[at:][:100])}; expected the records of one array"
            )
            problems.add(path, line, f"{message}, with commas between them. Mend the record.")
            return
        yield line, _record_of(value)


def _record_of(value):
    """A task of Label Studio as one record: its data, and the answer of the first annotator who gave one.

    Its choice or rating is the `label`, and labelled parts of the text are `spans`; other values are as they were.
    """
    if not (
        isinstance(value, dict) and isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list)
    ):
        return value
    annotations = [each for each in value["annotations"] if isinstance(each, dict)]
    valid = [each for each in annotations if not each.get("was_cancelled")]
    results = valid[0].get("result") if valid else None
    values = [each["value"] for each in results or [] if isinstance(each, dict) and isinstance(each.get("value"), dict)]
    labels = [label for each in values for label in each.get("choices", [each["rating"]] if "rating" in each else [])]
    record = value["data"] | {"was_cancelled": bool(annotations) and not valid}
    return record | ({"label": labels} if labels else {"spans": [each for each in values if "labels" in each]})


def flatten(record: dict) -> dict:
    """A record in which what stands inside an inner object is called `outer.inner`."""
    values = {}
    for key, value in record.items():
        values |= {f"{key}.{inner}": each for inner, each in value.items()} if isinstance(value, dict) else {key: value}
    return values


def value_of(record: dict, key: str):
    """The value of a key or of `outer.inner`."""
    if key in record:
        return record[key]
    outer, _, inner = key.partition(".")
    within = record.get(outer)
    return within.get(inner, _ABSENT) if isinstance(within, dict) else _ABSENT
