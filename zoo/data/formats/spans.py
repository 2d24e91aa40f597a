"""Texts with labelled spans, one JSON object a line, become words with IOB2 tags.

Read are the forms that annotation tools write: `entities`, `spans`, `ents`, `label` or `labels` as a list of
`{"start", "end", "label"}` or `[start, end, label]` (spaCy, Prodigy, doccano), and spaCy's `[text, {"entities": ...}]`.
Offsets count characters, the end is not included. Words are the given `tokens`, else those of the rule "punctuation"
of `zoo.text.words`, so that a full stop behind a name is no part of it.
"""

from itertools import islice, pairwise

from zoo.core.wording import quantity
from zoo.data.formats.base import Format, Layout, Problems, Wrong, quote
from zoo.data.formats.columns import missing_column
from zoo.data.formats.jsonl import decode_lines
from zoo.data.formats.names import is_left_out, verdict_column
from zoo.data.formats.opening import first_lines, lines_of
from zoo.text.words import find_words

_LOOKED_AT = 100
_SPANS = ("entities", "spans", "ents", "label", "labels")
_LABELS, _STARTS, _ENDS = ("label", "labels", "type", "entity", "tag"), ("start", "start_offset"), ("end", "end_offset")
_INSIDE = "spans that begin or end inside a word, which takes the label as a whole"


class Spans(Format):
    """Texts, and in them from which character to which other there stands what."""

    name, kinds, suffixes = "spans", ("tagged",), (".jsonl", ".ndjson", ".json")
    more_roles = ("text", "entities", "tokens")

    def claims(self, files, request):
        if {"words", "tags"} & request.columns.keys():
            return False
        lines = iter(first_lines(files[0], request, _LOOKED_AT))
        records = [_record(value) for _, value in decode_lines(files[0], lines, Problems())]
        named = records[0] if records and "entities" in request.columns else None
        first = next((each for each in records if _has_spans(each, request)), named)  # a rejected one may have none
        return first is not None and isinstance(first.get("text", first.get("data")), str)

    def layout(self, files, request):
        problems = Problems()
        values = [
            _record(value)
            for _, value in islice(decode_lines(files[0], lines_of(files[0], request), problems), _LOOKED_AT)
        ]
        if not values:
            problems.check()
            raise ValueError(f"{files[0]} is empty; expected one JSON object a line.")
        records = [each for each in values if each]
        first = next((each for each in records if _has_spans(each, request)), values[0])
        names = list(first or ())
        defaults = {
            "text": "data" if "text" not in names and "data" in names else "text",
            "entities": next((name for name in _SPANS if _are_spans((first or {}).get(name))), "entities"),
        }
        columns = defaults | {role: name for role, name in request.columns.items() if role in (*defaults, "tokens")}
        for role, name in columns.items():
            if name not in names:
                raise missing_column(files[0], role, name, names)
        details = {"keys": columns, "verdict": verdict_column(records, columns.values(), request)}
        return Layout(columns, f"texts in {columns['text']!r} with spans in {columns['entities']!r}", details)

    def rows(self, files, request, layout, problems):
        keys, verdict = layout.details["keys"], layout.details["verdict"]
        for line, value in decode_lines(files[0], lines_of(files[0], request), problems):
            record = _record(value)
            if record and is_left_out(record, verdict, problems, files[0], line):
                continue
            try:
                if record is None:
                    raise Wrong(f"{quote(value)}; expected an object with {', '.join(keys.values())}.")
                text, spans = record.get(keys["text"]), record.get(keys["entities"], [])
                words, inside = tag_words(text, spans, record.get(keys.get("tokens", "tokens")))
                if inside and not problems.mends("half_words"):
                    raise Wrong(
                        f"{quantity(inside, 'span')} in {quote(text)} begin or end inside a word; expected whole "
                        'words. Move their ends, or give "tokens" that separate what is labelled.'
                    )
            except Wrong as wrong:
                problems.add(files[0], line, str(wrong))
                continue
            if inside:
                problems.note(_INSIDE, inside)
            if words:
                yield line, tuple(map(list, zip(*words, strict=True)))
            else:
                problems.lack("a text", "the text is empty; expected words. Delete the line.", files[0], line)


def tag_words(text: str, spans: list, tokens: list | None = None) -> tuple[list[tuple[str, str]], int]:
    """((word, IOB2 tag) of each word, number of spans that begin or end inside a word).

    Raises:
        Wrong: a span is outside the text, overlaps another one or holds no word; or tokens do not fit the text.
    """
    if not isinstance(text, str):
        raise Wrong(f"the text is {quote(text)}; expected a string.")
    labelled = sorted(_span(text, each) for each in _list("spans", spans))
    for (start, end, label), (begin, stop, other) in pairwise(labelled):
        if begin < end:
            raise Wrong(
                f"the spans [{start}, {end}) {label} and [{begin}, {stop}) {other} overlap in "
                f"{quote(text[start:stop])}; expected at most one label for each character. Delete one of them."
            )
    places = find_words(text, "punctuation") if tokens is None else list(_places(text, tokens))
    tags, inside = ["O"] * len(places), 0
    for start, end, label in labelled:
        covered = [at for at, (begin, stop) in enumerate(places) if begin < end and start < stop]
        if not covered:
            raise Wrong(f"the span [{start}, {end}) {label} is {text[start:end]!r}: there is no word in it. Delete it.")
        for at in covered:
            if tags[at] != "O":
                word = text[slice(*places[at])]
                raise Wrong(
                    f"two spans, {tags[at][2:]} and {label}, share the word {word!r}; expected one label a word. Give "
                    '"tokens" that separate them, or delete one span.'
                )
            tags[at] = ("B-" if at == covered[0] else "I-") + label
        inner = text[start:end]
        bare = start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip())
        inside += (places[covered[0]][0], places[covered[-1]][1]) != bare
    return [(text[begin:stop], tag) for (begin, stop), tag in zip(places, tags, strict=True)], inside


def _span(text, span):
    """(start, end, label) of either form."""
    if isinstance(span, dict):
        start, end, label = (
            next((span[key] for key in keys if key in span), None) for keys in (_STARTS, _ENDS, _LABELS)
        )
    else:
        start, end, label = span if isinstance(span, list) and len(span) == 3 else (None, None, None)
    if isinstance(label, list) and len(label) == 1:  # as Label Studio writes it
        label = label[0]
    if type(start) is not int or type(end) is not int or not isinstance(label, str) or not label.strip():
        raise Wrong(
            f'{quote(span)} is no span; expected {{"start": 0, "end": 5, "label": "PERSON"}} or [0, 5, "PERSON"], the '
            "label a string that is not empty."
        )
    if not 0 <= start < end <= len(text):
        raise Wrong(
            f"the span [{start}, {end}) {label} is outside its text, which has {len(text)} characters (or is empty); "
            "expected 0 <= start < end <= length, in characters and not in bytes."
        )
    quoted = span.get("text") if isinstance(span, dict) else None
    if isinstance(quoted, str) and quoted != text[start:end]:
        raise Wrong(
            f"the span [{start}, {end}) {label} says {quote(quoted)}, and its text has {quote(text[start:end])} there; "
            "expected offsets in characters, not in bytes or tokens."
        )
    return start, end, label.strip()


def _places(text, tokens):
    """(start, end) of the given tokens: strings in their order, or objects with offsets. White space is no word."""
    at = 0
    for token in _list("tokens", tokens):
        if isinstance(token, dict):
            start, end = token.get("start"), token.get("end")
            if type(start) is not int or type(end) is not int or not at <= start <= end <= len(text):
                raise Wrong(f'the token {quote(token)} is not in its place; expected "start" and "end", in order.')
        else:
            start = text.find(token, at) if isinstance(token, str) and token else -1
            if start < 0 or text[at:start].strip():
                raise Wrong(
                    f"the token {quote(token)} does not stand at character {at} of the text, which goes on with "
                    f"{quote(text[at : at + 20])}; expected the tokens of this text, in order."
                )
            end = start + len(token)
        if text[start:end].strip():
            yield start, end
        at = end


def _record(value):
    """An object, or spaCy's [text, {"entities": [...]}] as one."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
        return {"text": value[0], **value[1]}
    return value if isinstance(value, dict) else None


def _are_spans(value):
    """Whether a value is a list of spans, perhaps an empty one."""
    return isinstance(value, list) and all(isinstance(each, dict | list) for each in value)


def _has_spans(record, request):
    """Whether a record has spans, under a name that is known or was given."""
    names = [request.columns["entities"]] if "entities" in request.columns else _SPANS
    return record is not None and any(name in record and _are_spans(record[name]) for name in names)


def _list(role, value):
    if not isinstance(value, list):
        raise Wrong(f"the {role} are {quote(value)}; expected a list.")
    return value
