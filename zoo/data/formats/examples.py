"""Examples as the tasks take them, and how the values of a file become one."""

import ast
import math
import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from zoo.core.wording import quantity
from zoo.data.formats.base import Lacking, Problems, Wrong, place, quote

_SHIFT = 40  # a place is (index of the file << 40) | line
_NO_BREAK = "\u00a0"
_COMMA, _THOUSANDS = re.compile(r"[-+]?\d*,\d+"), re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
_SPACES = re.compile(r"[ \t\r\n]+")
_ITEM = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+""")  # of a list as Python or NumPy shows it


@dataclass(frozen=True)
class Examples:
    """What is read: `inputs[i]` is to be answered by `answers[i]`.

    Attributes:
        kind: "pairs", "labelled", "compared", "rated", "scored", "tagged" or "running".
        inputs: strings; of "compared" and "scored" tuples of two strings; of "tagged" the words, joined by one
            space each; of "running" the whole text, as one string.
        answers: strings: the translation, the label, the number, the tags, joined by one space each; of "running" "".
        files: where the examples come from.
        places: of each example its file and line, in eight bytes; `where` tells them.
        notes: what was left out or read otherwise than it was written, in words.
    """

    kind: str
    inputs: list
    answers: list[str]
    files: tuple[str, ...] = ()
    places: array = field(default_factory=lambda: array("q"), repr=False)
    notes: tuple[str, ...] = ()

    def __len__(self):
        return len(self.inputs)

    def where(self, index: int) -> str:
        """`file:line` of an example; the file alone where lines have no meaning."""
        if index >= len(self.places):
            return f"example {index + 1}"
        here = self.places[index]
        return place(self.files[here >> _SHIFT], here & ((1 << _SHIFT) - 1))

    def take(self, indices: Iterable[int]) -> "Examples":
        """The examples with these indices, in this order."""
        indices = list(indices)
        places = array("q", (self.places[index] for index in indices)) if self.places else array("q")
        inputs, answers = [self.inputs[index] for index in indices], [self.answers[index] for index in indices]
        return Examples(self.kind, inputs, answers, self.files, places, self.notes)


class Places:
    """Numbers the places of examples, for `Examples.files` and `Examples.places`."""

    def __init__(self, files: list[str]):
        self.files, self.numbers = {path: number for number, path in enumerate(files)}, array("q")

    def add(self, path: str, line: int | None):
        self.numbers.append((self.files.setdefault(path, len(self.files)) << _SHIFT) | (line or 0))


def make_example(kind: str, values: tuple, problems: Problems) -> tuple:
    """(input, answer) of the values of one example, in the order of the kind's roles.

    Raises:
        Lacking: a text or a label is empty or missing.
        Wrong: a value is no text where one is expected.
    """
    return _MAKERS[kind](*values, problems)


def _pair(source, target, problems):
    return text_of("source", source), text_of("target", target)


def _labelled(text, label, problems):
    return text_of("text", text), _label(label, problems)


def _compared(first, second, label, problems):
    return (text_of("first text", first), text_of("second text", second)), _label(label, problems)


def _label(value, problems):
    label = label_of(value, problems.mends("label_spaces"))
    if isinstance(value, str) and value != label:
        problems.note("labels with spaces around them, which were removed")
    return label


def _rated(text, score, problems):
    return text_of("text", text), _number(score, problems)


def _scored(first, second, score, problems):
    number = _number(score, problems)
    return (text_of("first text", first), text_of("second text", second)), number


def _number(score, problems):
    """A finite number, as it is written; a decimal comma becomes a point where it can be no comma of thousands."""
    number = label_of(score)
    if number.lower() in ("nan", "na", "n/a", "null", "none"):
        raise Lacking("a score", f"the score is {quote(score)}; expected a number. Fill it in, or delete the example.")
    if _THOUSANDS.fullmatch(number):
        raise Wrong(f"the score is {quote(score)}, a decimal comma or one of thousands; expected a point or neither.")
    if _COMMA.fullmatch(number) and problems.mends("commas"):
        problems.note("scores with a decimal comma, which was read as a point")
        number = number.replace(",", ".")
    try:
        finite = math.isfinite(float(number))
    except ValueError:
        finite = False
    if not finite:
        raise Wrong(f"the score is {quote(score)}; expected a number. Name another column.")
    return number


def _running(text, problems):
    is_blank = isinstance(text, str) and not text.strip()  # which a line may be
    return text if is_blank else text_of("text", text), ""


def _tagged(words, tags, problems):
    tag_list = _parse_list(tags)  # brackets alone are words, too: only where the tags are a list the words may be one
    word_list = None if tag_list is None else _parse_list(words)
    words = _items("words", words) if word_list is None else word_list
    tags = _items("tags", tags) if tag_list is None else tag_list
    for role, items in (("words", words), ("tags", tags)):
        if not items:
            raise Lacking(role, f"a sentence without {role}. Fill them in, or delete it.")
    if len(words) != len(tags):
        raise Wrong(
            f"{quantity(len(words), 'word')} and {quantity(len(tags), 'tag')} in "
            f"{quote(' '.join(words))} and {quote(' '.join(tags))}; expected as many tags as "
            "words. A space inside a word or a tag makes two of it."
        )
    return join_tagged(words, tags, problems)


def join_tagged(words: list[str], tags: list[str], problems: Problems) -> tuple[str, str]:
    """Words and tags, each joined by one space; a word of white space alone goes, as spaCy has them between words."""
    pairs = [(_parts(word), _parts(tag)) for word, tag in zip(words, tags, strict=True) if word.strip() or not word]
    if len(pairs) < len(words):
        _check_rule(problems, "blank_words", words, "a word of white space alone")
        problems.note("words of white space alone, left out with their tags", len(words) - len(pairs))
    if not pairs:
        raise Wrong("a sentence without words. Delete it.")
    for number, (word, tag) in enumerate(pairs, 1):
        if not word or not tag:
            raise Wrong(
                f"word {number} is {' '.join(word)!r}, its tag {' '.join(tag)!r}; expected neither to be empty."
            )
    spaced = sum(len(parts) > 1 for each in pairs for parts in each)
    if spaced:
        _check_rule(problems, "inner_spaces", words, "a space inside a word or a tag")
        problems.note("spaces inside a word or a tag, which became U+00A0 in the word and _ in the tag", spaced)
    joined = " ".join(_NO_BREAK.join(word) for word, _ in pairs), " ".join("_".join(tag) for _, tag in pairs)
    for role, text in zip(("words", "tags"), joined, strict=True):
        _check_unicode(role, text)
    return joined


def _check_rule(problems, rule, words, fault):
    if not problems.mends(rule):
        raise Wrong(f"{fault} in {quote(words)}; expected none, for the rule {rule!r} is off. Mend the sentence.")


def _parts(word):
    """What ASCII white space cuts a word into; white space of other kinds is part of it."""
    return [part for part in _SPACES.split(word) if part]


def text_of(role: str, value) -> str:
    """A text that is not blank.

    Raises:
        Lacking: it is blank or missing.
        Wrong: it is no string, or has half a surrogate pair.
    """
    if _is_missing(value):
        raise Lacking(f"a {role}", f"the {role} is missing (null); expected text. Fill it in, or delete the example.")
    if not isinstance(value, str):
        raise Wrong(_no_text(role, value))
    if not value.strip():
        raise Lacking(f"a {role}", f"the {role} is empty; expected text. Fill it in, or delete the example.")
    _check_unicode(role, value)
    return value


def label_of(value, stripped: bool = True) -> str:
    """A label as a string: 1 is "1" and true is "true"; white space around it does not count where it is `stripped`.

    Raises:
        Lacking: it is empty or missing.
        Wrong: it is several.
    """
    if isinstance(value, list | tuple) and len(value) < 2:  # as doccano and Prodigy write one label, or none
        value = value[0] if value else None
    if isinstance(value, list | tuple | dict):
        raise Wrong(f"the label is {quote(value)}; expected one label, a string or a number. Name another column.")
    if isinstance(value, bool):
        return str(value).lower()
    if _is_missing(value) or not str(value).strip():
        message = "the label is empty; expected a label for every example. Fill it in, or delete the example."
        raise Lacking("a label", message)
    _check_unicode("label", str(value))
    return str(value).strip() if stripped else str(value)


def _parse_list(value):
    """The list of texts or whole numbers that a table holds as Python shows it, "['EU', 'rejects']", or as NumPy does,
    without the commas: so pandas writes columns of lists; None of another value."""
    if not (isinstance(value, str) and value.startswith("[") and value.endswith("]")):
        return None
    if _ITEM.sub("", value[1:-1]).strip(", \t\r\n"):
        return None
    try:
        return [str(ast.literal_eval(each)) for each in _ITEM.findall(value)]
    except (ValueError, SyntaxError):  # an escape that is none, or a number such as 007
        return None


def _items(role, value):
    """Words or tags: a list, or a string with spaces between them; none where they are missing."""
    if _is_missing(value):
        return []
    if isinstance(value, str):
        return _parts(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str | int) for each in value):
        return [str(each) for each in value]
    raise Wrong(f"the {role} are {quote(value)}; expected a list of strings, or a string with spaces between them.")


def _is_missing(value):
    return value is None or isinstance(value, float) and math.isnan(value)


def _no_text(role, value):
    mend = "Name the column that holds text"
    if isinstance(value, dict) and value:
        mend += f'; of an object inside an object it is "outer.{next(iter(value))}"'
    return f"the {role} is {quote(value)}; expected a string. {mend}."


def _check_unicode(role, value):
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Wrong(
            f"the {role} has half of a surrogate pair, {value[error.start]!r}, at character {error.start}; expected "
            "whole characters. Write the file again as UTF-8 (json.dumps with ensure_ascii=False)."
        ) from None


_MAKERS = {"pairs": _pair, "labelled": _labelled, "compared": _compared, "scored": _scored, "tagged": _tagged}
_MAKERS |= {"running": _running, "rated": _rated}
