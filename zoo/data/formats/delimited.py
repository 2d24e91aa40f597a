"""CSV and TSV: one example a record, with or without a header, as pandas, Excel and databases write them.

Quotes are those of RFC 4180: a field that holds the delimiter, a quote or a line break stands in double quotes, and a
quote inside it is doubled. Where a file is wrong by that rule and right if such a quote stands behind a backslash, as
databases write it, it is read so, and a doubled backslash is one; other backslashes are text. In TSV, where many
corpora have bare quotes, they are text unless the whole file obeys the rule.
"""

import csv
import re
from collections.abc import Iterator
from itertools import islice

from zoo.core.wording import quantity
from zoo.data.formats.base import Format, Layout, Problems, Request, quote
from zoo.data.formats.columns import Found, find_columns, list_columns, one_word_a_row, plain
from zoo.data.formats.names import by_names, is_left_out, normal, verdict_column
from zoo.data.formats.opening import first_lines, inner_suffix, lines_of

_LOOKED_AT = 200  # lines
_MANY_WORDS = 20  # rows with one word each, which are no sentences
_LONGEST = 1 << 24  # characters of a field: past it a quote was not closed
BACKSLASH = "backslash"  # where a quote inside a field stands behind one
_ESCAPED = re.compile(r'\\(["\\])')
_SAYS = re.compile(r"sep=([,;\t|])")  # the line in which Excel is told the delimiter
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


class Csv(Format):
    """Fields between commas, semicolons, tabs or bars: whichever gives every record the same number of fields."""

    name, suffixes, delimiters = "csv", (".csv",), ",;\t|"
    more_roles = ("sentence",)

    def layout(self, files, request):
        lines = list(islice(_lines(files[0], request), _LOOKED_AT))
        if not any(line.strip() for _, line in lines):
            raise ValueError(f"{files[0]} is empty; expected one example a line.")
        options, first_wrong = [], None
        declared = _SAYS.fullmatch(first_lines(files[0], request, 1)[0][1])
        for order, delimiter in enumerate(declared[1] if declared else self.delimiters):
            quoted = self._quoting(files[0], request, delimiter)
            rows, wrong = _sample(files[0], lines, delimiter, quoted)
            if len(rows) > (wrong is not None):
                options.append((_fitness(rows, request), -order, delimiter, quoted, rows))
            first_wrong = first_wrong or wrong
        if not options:
            raise first_wrong
        _, _, delimiter, quoted, rows = max(options)
        columns = find_columns(files[0], _regular(rows), request)
        layout = _layout(_regular(rows), columns, request, delimiter, quoted)
        layout.details["blanks"] = _are_words(files[0], lines, columns, layout, request)
        return layout

    def rows(self, files, request, layout, problems):
        rows = _rows(files[0], request, layout, problems)
        if layout.details["blanks"]:
            return _sentences(_by_blanks(rows))
        return _sentences(rows) if "sentence" in layout.details["at"] else rows

    def _quoting(self, path, request, delimiter):
        """Whether a quote inside a field is doubled, or stands behind a backslash in the whole file."""
        if "backslashes" in request.rules_off or not any(r"\"" in line for _, line in _lines(path, request)):
            return True
        if _is_even(path, request, delimiter, True) or not _is_even(path, request, delimiter, BACKSLASH):
            return True  # where neither reads the whole file, what is wrong is told
        return BACKSLASH


class Tsv(Csv):
    """Fields between tabs."""

    name, suffixes, delimiters = "tsv", (".tsv", ".tab", ".txt"), "\t"

    def claims(self, files, request):
        if inner_suffix(files[0]) in (".tsv", ".tab"):
            return True
        lines = [line for _, line in first_lines(files[0], request, _LOOKED_AT) if line.strip()]
        return request.kind != "running" and bool(lines) and all("\t" in line for line in lines)

    def _quoting(self, path, request, delimiter):
        """Whether every field that begins with a quote ends with one, in the whole file."""
        if not any(line.startswith('"') or '\t"' in line for _, line in _lines(path, request)):
            return True
        return _is_even(path, request, delimiter, True)


def _is_even(path, request, delimiter, quoted):
    """Whether a whole file can be read so, and every record has as many fields."""
    try:
        return len({len(fields) for _, fields in _records(path, _lines(path, request), delimiter, quoted)} - {0}) == 1
    except ValueError:
        return False


def _rows(path, request: Request, layout: Layout, problems: Problems) -> Iterator[tuple[int, tuple]]:
    at, width = layout.details["at"], layout.details["width"]
    delimiter, header = layout.details["delimiter"], layout.details["header"]
    places = [at[role] for role in request.ordered(at)]
    verdict, judged = layout.details["verdict"] or (None, 0)
    names = None
    records = _records(path, _lines(path, request), delimiter, layout.details["quoted"])
    for line, fields in records:
        if header and fields and names is None:
            names = fields
            continue
        if not any(map(str.strip, fields)):
            if layout.details["blanks"]:
                yield line, None
            else:
                problems.blank(path, line)
            continue
        if fields == names and problems.mends("headers"):
            problems.header(path, line)
            continue
        if len(fields) != width:
            problems.add(path, line, _wrong_width(fields, width, delimiter))
            continue
        if verdict and is_left_out({verdict: fields[judged]}, verdict, problems, path, line):
            continue
        yield line, tuple(fields[place] for place in places)


def _lines(path, request):
    """The lines of a file without the one that names the delimiter."""
    numbered = lines_of(path, request)
    return (each for each in numbered if each[0] > 1 or not _SAYS.fullmatch(each[1]))


def _are_words(path, lines, columns, layout, request):
    """Whether a table has one word a row, and a blank row after each sentence.

    Raises:
        ValueError: it has one word a row, and nothing tells the sentences.
    """
    if request.kind != "tagged" or "sentence" in columns.at:
        return False
    delimiter, quoted, at = (layout.details[key] for key in ("delimiter", "quoted", "at"))
    rows = _sample(path, lines, delimiter, quoted, blanks=True)[0][columns.header :]
    full = [fields for fields in rows if any(map(str.strip, fields))]
    if any(len(fields) > at["words"] and len(fields[at["words"]].split()) > 1 for fields in full):
        return False
    while rows and rows[-1] not in full:
        rows.pop()
    has_names = {"word", "token"} & {normal(name) for name in layout.details["names"] if columns.header}
    if len(rows) == len(full) and (has_names or len(full) >= _MANY_WORDS):
        raise one_word_a_row(path, layout.details["names"], columns.header)
    return len(rows) > len(full)


def _by_blanks(rows):
    """Sentences of a table with a blank row after each of them."""
    number = 0
    for line, values in rows:
        if values is None:
            number += 1
        else:
            yield line, (*values, str(number))


def _sentences(rows):
    """Sentences of a table with one word a row; a sentence's number stands at each word or at the first one alone."""
    words, tags, start, current = [], [], None, None
    for line, (word, tag, sentence) in rows:
        if words and sentence.strip() not in ("", current):
            yield start, (words, tags)
            words, tags = [], []
        if not words:
            start = line
        current = sentence.strip() or current
        words.append(word)
        tags.append(tag)
    if words:
        yield start, (words, tags)


def _records(path, lines, delimiter, quoted) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, fields) of each record; a blank line has no fields.

    Raises:
        ValueError: quotes that do not obey RFC 4180, or a "\r" that stands alone.
    """
    last = [0]

    def read_lines():
        for number, line in lines:
            last[0] = number
            yield (
                _ESCAPED.sub(lambda match: match[1].replace('"', '""'), line) if quoted == BACKSLASH else line
            ) + "\n"

    style = {} if quoted else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(read_lines(), delimiter=delimiter, strict=True, **style)
    while True:
        before, limit = last[0], csv.field_size_limit(_LONGEST)
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(_say_misquoted(path, before + 1, last[0], error)) from error
        finally:
            csv.field_size_limit(limit)
        yield before + 1, fields


def _sample(path, lines, delimiter, quoted, blanks=False):
    """(the records of the first lines, what is wrong behind them); a record that the last line cuts is not wrong."""
    rows = []
    try:
        for _, fields in _records(path, iter(lines), delimiter, quoted):
            rows += [fields] if fields or blanks else []
    except ValueError as error:
        is_cut = "is not closed" in str(error) and len(lines) == _LOOKED_AT
        return rows, None if is_cut else error
    return rows, None


def _fitness(rows, request):
    """How well a delimiter fits: as many fields everywhere, names that are known, enough columns and not too many."""
    widths = {len(fields) for fields in rows}
    least = len(request.roles)
    names = by_names(rows[0], request.kind, request.roles)
    requested = sum(column in rows[0] for column in request.columns.values())
    even = len(widths) == 1 and len(rows[0]) >= least
    return even, requested, len(names) == least, len(rows[0]) > 1, len(rows[0]) == least, _repeats(rows, request)


def _repeats(rows, request):
    """Of labelled examples, how often the column with the fewest values repeats one."""
    if "label" not in request.roles:
        return 0.0
    width = min(map(len, rows))
    return 1 - min(len({fields[at] for fields in rows}) for at in range(width)) / len(rows) if width > 1 else 0.0


def _regular(rows):
    """The records that are as long as the first one; the others are told when they are read."""
    return [fields for fields in rows if len(fields) == len(rows[0])]


def _layout(rows, found: Found, request, delimiter, quoted):
    first, *others = [[plain(name) for name in rows[0]], *rows[1:]]
    named = found.header and [name if first.count(name) == 1 else "" for name in first]  # two of a name have numbers
    columns = {role: (named and named[found.at[role]]) or found.at[role] + 1 for role in request.ordered(found.at)}
    why = f"fields between {_NAMES.get(delimiter, repr(delimiter))}; {found.why}"
    if quoted == BACKSLASH:
        why += "; a quote inside a field stands behind a backslash"
    if found.header:
        why += f": {list_columns(first)}"
    details = {"delimiter": delimiter, "header": found.header, "quoted": quoted, "at": found.at, "width": len(first)}
    details["names"] = first
    taken = [first[at] for at in found.at.values()]
    records = [dict(zip(map(str.lower, first), fields, strict=True)) for fields in others]
    verdict = verdict_column(records, [*map(str.lower, taken)], request) if found.header else None
    details["verdict"] = verdict and (verdict, [*map(str.lower, first)].index(verdict))
    return Layout(columns, why, details)


def _wrong_width(fields, width, delimiter):
    record = quote(delimiter.join(fields), 80)
    if len(fields) > width:
        mend = f"If a text holds {delimiter!r}, put it in double quotes." if delimiter != "\t" else "Take out the tab."
        if any(field.startswith(' "') for field in fields):
            mend = "Take out the space before the quote: only a field that begins with a quote is quoted."
    else:
        mend = "Add what is missing, or delete the line."
    return f"{quantity(len(fields), 'column')} in {record}; expected {width}, as in the first line. {mend}"


def _say_misquoted(path, line, last, error):
    reason = str(error)
    if "unexpected end of data" in reason or "field larger" in reason:
        return (
            f"{path}:{line}: the record that begins here opens a quote that is not closed (read on to line {last}). "
            'Close it, or double it ("") if it is part of the text.'
        )
    if "new-line character" in reason:
        return (
            f"{path}:{line}: a carriage return stands alone, as old Macintosh programs end lines; expected LF or CRLF. "
            r"Convert it, for example with tr '\r' '\n'."
        )
    return (
        f"{path}:{line}: text follows a closing quote in the record that begins here (to line {last}; {reason}). "
        'Put the whole field in quotes, and double ("") the quotes that are part of the text.'
    )
