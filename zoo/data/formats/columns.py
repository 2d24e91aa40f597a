"""Finds the columns of a table: those that were named, those whose names are known, or those whose content tells."""

import difflib
import re
from dataclasses import dataclass

from zoo.core.wording import quantity
from zoo.data.formats.base import KINDS, ROLES, Request, join_some, quote, say_columns
from zoo.data.formats.names import aliases, by_names, is_language, is_name, normal

_NUMBERED = re.compile(r"([^\W\d]*[-_:.]?)\d+")
# What a header's cell may look like, such as "review" or "spam?", or nothing, as above the index of pandas.
_WORDLIKE = re.compile(r"[^\W\d_][\w .:/()#-]{0,39}|[^\W\d_]\w{0,39}\?|")


@dataclass(frozen=True)
class Found:
    """`at` is the index of each role's column; `header` says whether the first row holds names."""

    at: dict[str, int]
    header: bool
    why: str


def check_roles(kind: str, columns: dict) -> dict:
    """The columns that were asked for; refuses a role that the kind does not have."""
    if kind not in ROLES:
        raise ValueError(f"kind must be one of {', '.join(ROLES)}; received {kind!r}.{say_nearest(kind, ROLES)}")
    known = (*ROLES[kind], "header", *({"tagged": ("sentence", "text", "entities", "tokens")}.get(kind, ())))
    for role, column in columns.items():
        if role not in known:
            raise ValueError(
                f"columns: {KINDS[kind]} have {', '.join(known)}; received {role!r}.{say_nearest(role, known)}"
            )
        if role == "header":
            if not isinstance(column, bool):
                raise ValueError(f"columns: header must be true or false; received {column!r}.")
        elif isinstance(column, bool) or not isinstance(column, int | str) or column == "" or column == 0:
            raise ValueError(
                f"columns: {role} must be a column's name or its number counted from 1; received {column!r}."
            )
    return columns


def find_columns(path: str, rows: list[list[str]], request: Request) -> Found:
    """The columns of a delimited table, of which `rows` are the first ones, strings all.

    Raises:
        ValueError: a column that was asked for is not there, or what is there does not tell; the message lists the
            columns by number and name.
    """
    first, rest = [plain(cell) for cell in rows[0]], rows[1:]
    requested = {role: plain(column) for role, column in request.columns.items() if role != "header"}
    header = request.columns.get("header", _is_header(first, rest, request, requested))
    if not header and "header" not in request.columns:
        _check_names(path, first, request)
    at = {role: _find_named(path, role, column, first, header) for role, column in requested.items()}
    if all(role in at for role in request.roles):
        return Found(at, header, "the columns were given")
    missing = tuple(role for role in request.roles if role not in at)
    if header:
        at |= _sentences(first, request, at)
        known = {
            role: index for role, index in by_names(first, request.kind, missing).items() if index not in at.values()
        }
        if all(role in known for role in missing):
            return Found(at | known, True, "the columns are told by the names of the header")
    known, useless = _by_content(rest if header and rest else rows, set(at.values()), missing)
    if known is None:
        raise ValueError(_say_ambiguous(path, first, header, missing))
    for role, index in known.items():
        if role not in ("label", "score", "tags") and _counts_on([row[index] for row in (rest if header else rows)]):
            raise ValueError(
                f"{path}:1: column {index + 1} counts the rows, and no other is left for {role}: "
                f"{list_columns(first, header)}. Add the texts; or, if those are the texts, say so: "
                f"{say_columns({role: index + 1, 'header': header})}."
            )
    unread = "".join(f"; column {index + 1} {why}, and is not read" for index, why in useless.items())
    names = "a header with other names" if header else f"no header, line 1 is {list_columns(first, False)}"
    return Found(at | known, header, f"{names}, so the columns are told by what they hold{unread}")


def plain(name):
    """The name of a column as it is called: a line break inside it, or several spaces, are one space."""
    return " ".join(name.split()) if isinstance(name, str) else name


def _check_names(path, first, request):
    """Refuse a first line that would be a header if one of its names did not stand there twice.

    In pairs both sides may be one word, as where spellings are mended, so there such a line is an example.
    """
    twice = [cell for cell in first if first.count(cell) > 1 and normal(cell) in aliases()]
    if twice and request.kind != "pairs" and all(_WORDLIKE.fullmatch(cell) for cell in first):
        numbers = dict.fromkeys(request.roles, ...) | {"header": True}
        raise ValueError(
            f"{path}:1: {first.count(twice[0])} columns are named {twice[0]!r}: {list_columns(first)}. "
            f"Give each a name of its own, or say the numbers of the columns, counted from 1: "
            f"{say_columns(numbers)}; or header false, if line 1 is an example."
        )


def _sentences(first, request, found):
    """The column of a table with one word a row that says which sentence the word is of."""
    if request.kind != "tagged" or "sentence" in found or not {"word", "token"} & {normal(name) for name in first}:
        return {}
    return by_names(first, "tagged", ("sentence",), (is_name,))


def one_word_a_row(path: str, first: list[str], header: bool) -> ValueError:
    """The error for words below each other of which nothing tells the sentence."""
    return ValueError(
        f"{path}:1: one word a row, and no column tells the sentence: {list_columns(first, header)}. Name it with "
        f"{say_columns({'sentence': ...})}; or separate sentences by blank lines."
    )


def list_columns(names: list[str], header: bool = True) -> str:
    """The columns as messages list them: by number and name, or by number and the first row's content."""
    shortly = enumerate((quote(name, 30) for name in names), 1)
    return join_some([f"{number} {name}" if header else f"{number} ({name})" for number, name in shortly])


def missing_column(path: str, role: str, column, names: list[str], header: bool = True) -> ValueError:
    """The error for a column that is not there."""
    what = "line 1 names" if header else "there is no header, and line 1 has"
    number = isinstance(column, int)
    word = f"column {column} (counted from 1)" if number else f"column {column!r}"
    hint = "" if number else say_nearest(column, names)
    if not header and not number:
        hint = " Say the number of the column, counted from 1."
    hint = hint or f" Say which it is: {say_columns({role: ...})}."
    return ValueError(f"{path}:1: no {word} for {role}; {what} {list_columns(names, header)}.{hint}")


def _find_named(path, role, column, first, header):
    if isinstance(column, str):
        if header and column in first:
            if first.count(column) > 1:
                raise ValueError(
                    f"{path}:1: {first.count(column)} columns are named {column!r}; say the number of the one for "
                    f"{role}: {list_columns(first)}."
                )
            return first.index(column)
        if not column.lstrip("-").isdigit():
            raise missing_column(path, role, column, first, header)
        column = int(column)
    if not 1 <= column <= len(first):
        raise missing_column(path, role, column, first, header)
    return column - 1


def _is_header(first, rest, request, requested):
    """Whether the first row holds names; where there is doubt it is an example, so that none is lost."""
    names = [column for column in requested.values() if isinstance(column, str) and not column.isdigit()]
    if any(name in first for name in names):
        return True
    cells, filled = first, [cell for cell in first if cell]
    if len(set(filled)) < len(filled):
        return False
    equal = by_names(cells, request.kind, request.roles, (is_name,))
    if "label" in equal and _is_of_labels(cells, rest, equal["label"]):
        return True
    if not all(_WORDLIKE.fullmatch(cell) for cell in cells):
        return False
    if not cells[0] and filled and rest and all(row[0].isdigit() for row in rest):
        return True  # the index of pandas, which has no name
    if request.kind == "pairs" and sum(map(is_language, cells)) >= 2:
        return True
    if len(equal) == len(request.roles):
        return True
    longer = _longer_below(cells, rest)
    if longer and len(by_names(cells, request.kind, request.roles)) == len(request.roles):
        return True
    if request.kind == "pairs":
        return False
    if any(all(cells[at] != row[at] for row in rest if at < len(row)) for at in equal.values()):
        return longer or _numbers_below(cells, rest)
    return _numbers_below(cells, rest) or longer and _labels_below(cells, rest)


def _longer_below(cells, rest):
    """Short names above longer texts."""
    words = [sum(len(cell.split()) for cell in row) / len(row) for row in rest if row]
    return bool(words) and sum(words) / len(words) > 1.5 * sum(len(cell.split()) for cell in cells) / len(cells)


def _numbers_below(cells, rest):
    """A column of numbers under a word."""
    columns = [[row[at] for row in rest if at < len(row)] for at in range(len(cells))]
    return len(rest) > 1 and any(
        cell and not _is_number(cell) and all(map(_is_number, column))
        for cell, column in zip(cells, columns, strict=True)
    )


def _labels_below(cells, rest):
    """A column of few values that come again and again, under a word that is none of them."""
    are_short = all(len(each.split()) <= 2 for each in cells)
    return are_short and any(_is_of_labels(cells, rest, at) for at in range(len(cells)))


def _is_of_labels(cells, rest, at):
    values = [row[at] for row in rest if at < len(row)]
    return len(values) >= 4 and len(set(values)) <= len(values) // 2 and bool(cells[at]) and cells[at] not in values


def _is_number(cell):
    """Whether a cell is a number, with a decimal point or, as in many countries, a comma."""
    try:
        float(cell.replace(",", ".", 1))
    except ValueError:
        return False
    return True


def _by_content(rows, taken, missing):
    """(role -> column where the content leaves no choice, else None; column -> what it holds that is not needed)."""
    width = min(map(len, rows))
    columns = {at: [row[at].strip() for row in rows] for at in range(width) if at not in taken}
    columns = {at: cells for at, cells in columns.items() if any(cells)}
    useless = {}
    for is_so, reason in ((_is_attribution, "names who wrote it"), (_is_numbering, "numbers the rows")):
        if len(columns) > len(missing):
            useless |= {at: reason for at, cells in columns.items() if is_so(cells)}
            columns = {at: cells for at, cells in columns.items() if at not in useless}
    if len(columns) != len(missing):
        return None, useless
    order = list(columns)
    for role, likeness in (("label", _like_a_text), ("score", lambda cells: -sum(map(_is_number, cells)))):
        if role in missing:
            likeliest = min(order, key=lambda at: likeness(columns[at]))
            order = [at for at in order if at != likeliest] + [likeliest]
    return dict(zip(missing, order, strict=True)), useless


def _like_a_text(cells):
    words = sum(len(cell.split()) for cell in cells) / len(cells)
    return round(words, 1), len(set(cells)), sum(map(len, cells)) / len(cells)


def _is_attribution(cells):
    """The third column of Tatoeba's pairs."""
    return all(cell.startswith("CC-BY") for cell in cells)


def _is_numbering(cells):
    """The numbers of the rows, or names of theirs such as s1, s2: all different, what is no digit alike."""
    numbered = [_NUMBERED.fullmatch(cell) for cell in cells]
    return all(numbered) and len(set(cells)) == len(cells) > 2 and len({each[1] for each in numbered}) == 1


def _counts_on(cells):
    """Whether a column counts: 1, 2, 3, also from 0 or any other number."""
    numbers = [int(cell) if cell.strip().isdecimal() else None for cell in cells]
    return len(cells) > 2 and None not in numbers and numbers == list(range(numbers[0], numbers[0] + len(cells)))


def _say_ambiguous(path, first, header, missing):
    return (
        f"{path}:1: which column is {' and which is '.join(missing)}? Found {quantity(len(first), 'column')}"
        f"{'' if header else ' and no header'}: {list_columns(first, header)}. Say it by name or by number, "
        f"counted from 1: {say_columns(dict.fromkeys(missing, ...))}."
    )


def say_nearest(word, known) -> str:
    """ " Did you mean ...?", or nothing where no name is like it."""
    near = difflib.get_close_matches(str(word), [str(each) for each in known], 1)
    return f" Did you mean {near[0]!r}?" if near else ""
