"""CoNLL: one word a line, a blank line after each sentence; also CoNLL-U and CoNLL-U Plus.

Columns are separated by tabs, or else by white space. By default the words are the first column, or the second one
where the first counts them, and the tags the last one; of a second layer of tags, as GermEval has for names inside
names, the first. Of CoNLL-U (ten columns, the first of them numbers) the words are FORM and the tags UPOS. `-DOCSTART-`
is no sentence, and of CoNLL-U comments, multiword ranges (1-2) and empty nodes (8.1) are no words.
"""

import re
from collections import Counter
from itertools import chain

from zoo.core.wording import quantity
from zoo.data.formats.base import Format, Layout, quote
from zoo.data.formats.columns import list_columns, missing_column
from zoo.data.formats.names import by_names, is_name
from zoo.data.formats.opening import first_lines, inner_suffix, lines_of

_LOOKED_AT = 5000
_LONGEST = 100  # words that a file may have without a blank line: it may be one sentence
_COUNTED = re.compile(r"(?:\S*\D)?(\d{1,9})")  # 7, or s3-7: the last number
_WHITE = re.compile(r"[ \t\r]+")  # U+00A0 and its like are part of a word
_EMPTY = ({"_"}, {"-"}, {"*"})
_ENTITY = re.compile(r"[BIESLUM]-(.+)")
_U = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NUMBER = re.compile(r"\d+([-.]\d+)?")
_NO_WORD = re.compile(r"\d+[-.]\d+")
_IS_COMMENT = re.compile(r"# (id|sent_id|text|newdoc|newpar)\b|# [^\t]*\t|# *\S+ *=")  # in a file without tabs
_COLUMNS = "# global.columns ="
_MARK = "-DOCSTART-"


class Conll(Format):
    """Words below each other, their tags beside them."""

    name, kinds = "conll", ("tagged",)
    suffixes = (".conll", ".conllu", ".conllup", ".iob", ".iob2", ".bio", ".ner", ".pos", ".tsv", ".txt")

    def claims(self, files, request):
        """By the suffix; of a .tsv, a .txt and names of no format: a blank line between two others, or one word a line;
        but no column of sentence numbers."""
        if inner_suffix(files[0]) in self.suffixes[:-2]:
            return True
        if "sentence" in request.columns:
            return False
        texts = [text for _, text in first_lines(files[0], request, _LOOKED_AT)]
        inside = "\n".join(texts).strip("\n").split("\n")
        rows = [_cells(text, "\t" in text) for text in inside if text.strip() and not text.startswith("#")]
        if not rows or "sentence" in by_names(rows[0], "tagged", ("sentence",), (is_name,)):
            return False
        tabs = any("\t" in text for text in inside)
        words = 1 if min(map(len, rows)) > 2 and _counts(rows, 0) else 0
        several = any(len(cells[words].split()) > 1 for cells in rows)
        return not several and ("" in inside or len(rows) > 1 and tabs)

    def layout(self, files, request):
        path = files[0]
        lines = first_lines(path, request, _LOOKED_AT)
        rows = [text for _, text in lines if text.strip() and not text.startswith(("# ", "#\t", _MARK))]
        if not rows:
            raise ValueError(f"{path} is empty; expected one word a line, and a blank line after each sentence.")
        tabs = sum("\t" in text for text in rows) > len(rows) / 2
        width = Counter(len(_cells(text, tabs)) for text in rows).most_common(1)[0][0]
        if width < 2:
            raise ValueError(
                f"{path}:1: one column in {quote(rows[0])}; expected at least two, a word and its tag, with a tab or "
                "spaces between them."
            )
        regular = [cells for cells in (_cells(text, tabs) for text in rows) if len(cells) == width]
        first = regular[0]
        universal = _universal(lines, first) if tabs else None
        has_names = len(by_names(first, "tagged", request.roles, (is_name,))) == len(request.roles)
        header = not universal and request.columns.get("header", has_names)
        names = universal or ([name.lower() for name in first] if header else None)
        requested = {role: column for role, column in request.columns.items() if role in request.roles}
        at, reasons = _defaults(path, names, regular, requested)
        at |= {role: _column(path, role, column, names, first) for role, column in requested.items()}
        columns = {role: names[at[role]] if names else at[role] + 1 for role in request.roles}
        why = "CoNLL-U" if universal else f"one word a line, {width} columns"
        why += f": {', '.join(names)}" if names else f": {list_columns(first, False)}"
        why += "".join(f"; {reason}" for reason in reasons)
        details = {"at": at, "tabs": tabs, "width": width, "universal": bool(universal), "header": header}
        details["counted"] = _counts(regular, 0)
        return Layout(columns, why, details)

    def rows(self, files, request, layout, problems):
        path, details = files[0], layout.details
        at, tabs, width, universal, header = (details[key] for key in ("at", "tabs", "width", "universal", "header"))
        comments = universal or details["counted"]  # a line that begins with # has no number
        words, tags, start, broken, lacking, undivided = [], [], None, False, None, True
        for line, text in chain(lines_of(path, request), [(None, "")]):
            if not text.strip():
                undivided = undivided and line is None
                if lacking and not broken:
                    problems.lack("a word or a tag", lacking[1], path, lacking[0])
                elif undivided and len(words) > _LONGEST:
                    found = f"there is no blank line in {quantity(len(words), 'word')}"
                    problems.add(path, start, f"{found}; expected one after each sentence. Add them.")
                elif words and not broken:
                    yield start, (words, tags)
                words, tags, start, broken, lacking = [], [], None, False, None
                continue
            cells = _cells(text, tabs)
            if text.startswith("#") and (
                comments
                or len(cells) != width
                and (not words or text[1:2] == " ")
                or text.startswith("# ")
                and (tabs or not words and _IS_COMMENT.match(text))
            ):
                continue
            if header:
                header = False
                continue
            if cells[0] == _MARK or universal and _NO_WORD.fullmatch(cells[0]):
                continue
            if len(cells) != width:
                broken = True
                problems.add(path, line, _wrong_width(text, cells, width, tabs))
                continue
            if not (cells[at["words"]] and cells[at["tags"]].strip()):
                lacking = lacking or (line, f"no word or no tag in {quote(text)}; expected both. Add what is missing.")
                continue
            start = line if start is None else start
            words.append(cells[at["words"]])
            tags.append(cells[at["tags"]])


def _cells(text, tabs):
    return [cell.strip(" ") for cell in text.split("\t")] if tabs else _WHITE.split(text.strip(" \t\r"))


def _universal(lines, first):
    """The names of the columns of CoNLL-U, or those that a file of CoNLL-U Plus declares; else None."""
    for _, text in lines:
        if text.startswith(_COLUMNS):
            return text[len(_COLUMNS) :].lower().split()
    return list(_U) if len(first) >= len(_U) and _NUMBER.fullmatch(first[0]) else None


def _defaults(path, names, rows, requested):
    """({role: its column}, why): by the names; else the words are the first column that does not count, and the tags
    the last one, or the first of several layers of tags."""
    if names:
        known = by_names(names, "tagged", ("words", "tags"), (is_name,))
        known |= {role: names.index(name) for role, name in (("words", "form"), ("tags", "upos")) if name in names}
        return {"words": 0, "tags": len(names) - 1} | known, []
    width, reasons, words = len(rows[0]), [], 0
    if _counts(rows, 0):
        if width == 2 and not requested:
            raise ValueError(
                f"{path}:1: two columns, and the first one counts: {quote(' '.join(rows[0]))}. Expected a word and its "
                "tag; add the tags."
            )
        words = 1 if width > 2 else 0
        reasons += ["column 1 counts the words, which are column 2"] if words and "words" not in requested else []
    if words == 0 and not requested and _are_entities(rows, 0) and not _are_entities(rows, width - 1):
        return {"words": 1, "tags": 0}, ["column 1 has tags such as B-TYPE and O, so the words are column 2"]
    filled = [at for at in range(words + 1, width) if {row[at] for row in rows} not in _EMPTY] or [width - 1]
    tags = last = filled.pop()
    while filled and _is_layer(_kinds(rows, filled[-1]), _kinds(rows, tags)):
        tags = filled.pop()
    if tags < width - 1 and "tags" not in requested:
        layer, nothing = (
            f", for column {last + 1} is a second layer of them",
            f", behind which is {rows[0][-1]!r} alone",
        )
        reasons.append(f"the tags are column {tags + 1}{layer if tags < last else nothing}")
    return {"words": words, "tags": tags}, reasons


def _counts(rows, column):
    """Whether a column numbers the words: 1, 2, 3 in each sentence or through the file, also at the end of a name."""
    numbers = [_COUNTED.fullmatch(row[column]) for row in rows]
    if len(rows) < 2 or not all(numbers):
        return False
    numbers = [int(each[1]) for each in numbers]
    steps = list(zip(numbers, numbers[1:], strict=False))
    return any(two == one + 1 for one, two in steps) and all(two == one + 1 or two < 2 for one, two in steps)


def _kinds(rows, column):
    """The kinds of entities of a column of tags, such as PER; None where the tags are no entities."""
    tags = {row[column] for row in rows}
    prefixed = [_ENTITY.fullmatch(tag) for tag in tags - {"O"}]
    if "O" not in tags or any(prefixed) and not all(prefixed):
        return None
    return {each[1] for each in prefixed} if all(prefixed) else tags - {"O"}


def _are_entities(rows, column):
    """Whether a column has tags with prefixes, such as B-PER, beside O."""
    return any(_ENTITY.fullmatch(row[column]) for row in rows) and _kinds(rows, column) is not None


def _is_layer(outer, inner):
    """Whether a column holds names inside the names of the one before it."""
    return bool(outer) and inner is not None and inner <= outer


def _column(path, role, column, names, first):
    if isinstance(column, str) and not column.isdigit():
        if names is None or column.lower() not in names:
            raise missing_column(path, role, column, names or first, names is not None)
        return names.index(column.lower())
    if not 1 <= int(column) <= len(first):
        raise missing_column(path, role, int(column), names or first, names is not None)
    return int(column) - 1


def _wrong_width(text, cells, width, tabs):
    between = "tabs" if tabs else "white space"
    return (
        f"{quantity(len(cells), 'column')} in {quote(text)}; expected {width}, with {between} between them, as in the "
        "other lines. Add what is missing; sentences are separated by a blank line."
    )
