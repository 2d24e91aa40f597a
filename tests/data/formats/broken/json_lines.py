"""JSON lines that are no objects, lack a key, or hold something else than text."""

from tests.data.formats.broken.variant import one

GOOD_LINE = '{"text": "a", "label": "b"}\n'  # a line with nothing wrong


def labelled(lines, line, found, mend):
    return one("labelled", "a.jsonl", lines, line, found, mend)


JSON = [
    labelled("\n\n", None, "is empty", "one JSON object a line"),
    labelled(GOOD_LINE + '{"text": "a", \n', 2, "no JSON at character", "Mend the line"),
    one("labelled", "a.json", '{\n "text": "a",\n "label": "b"\n}', 1, "over several lines", "lines=True"),
    one("labelled", "a.json", '[\n {"text": "a",\n "label": "b"},\n', 3, "expected the records of one array", "Mend"),
    one("labelled", "a.json", '[{"text": "a",\n "label": "b"}] x', 2, "no JSON (Expecting value): '] x'", "Mend"),
    one("labelled", "a.json", "[\n\n]", None, "a.json is empty", "one JSON object a line"),
    labelled(GOOD_LINE + "17\n", 2, "17 is no JSON object", "one object a line"),
    labelled(GOOD_LINE + '{"text": "a"}\n', 2, "has no 'label'", "Add it"),
    labelled('{"body": "a", "kind": "b"}\n', 1, "which entry is label?", "Say it by name"),
    labelled('{"text": {"de": "a"}, "label": "b"}\n', 1, "which entry is text?", "text.de"),
    labelled(
        GOOD_LINE + '{"text": {"de": "a"}, "label": "b"}\n',
        2,
        "the text is {'de': 'a'}; expected a string",
        '"outer.de"',
    ),
    labelled('{"text": null, "label": "b"}\n', 1, "the text is missing (null)", "Fill it in"),
    labelled('{"text": "a", "label": NaN}\n', 1, "the label is empty", "Fill it in"),
    labelled('{"text": "a", "label": ["x", "y"]}\n', 1, "the label is ['x', 'y']", "Name another column"),
    labelled('{"text": "a \\ud800", "label": "b"}\n', 1, "half of a surrogate pair", "as UTF-8"),
    one("tagged", "a.jsonl", '{"tokens": ["a", ""], "tags": ["X", "Y"]}\n', 1, "word 2 is ''", "neither to be empty"),
    one("tagged", "a.jsonl", '{"tokens": {"a": 1}, "tags": "X"}\n', 1, "which entry is words?", "Say it by name"),
]
