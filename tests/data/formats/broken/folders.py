"""Folders without labels or files, and running text without text."""

from tests.data.formats.broken.variant import Broken, one

FOLDERS = [
    Broken("labelled", {"a/pos/1": "x", "a/neg": None}, None, "holds no files", "Move the files", ["a"], at="a/neg"),
    Broken(
        "labelled", {"a/1.txt": "x"}, None, "holds no folders", "one folder of text files for each label", ["a"], at="a"
    ),
    Broken(
        "labelled",
        {"a/train/pos/1": "x", "a/test/pos/1": "x"},
        None,
        "which are splits",
        "Name one of them",
        ["a"],
        at="a",
    ),
    Broken("labelled", {"a/pos/1": "x", "a/neg/b/1": "x"}, None, "holds a folder", "Move the files", ["a"], at="a/neg"),
    Broken("labelled", {"a/pos/1": "x", "a/neg/1": " \n"}, None, "the text is empty", "delete", ["a"], at="a/neg/1"),
    Broken("labelled", {"a/pos/1": "x", "a/neg/1": b"\xff"}, 1, "0xff", "iconv", ["a"], at="a/neg/1"),
    Broken("running", {"a": None}, None, "holds no files", "expected text files", ["a"], at="a"),
    Broken(
        "labelled",
        {"a/pos/1": "x", "a/neg/1": "y"},
        None,
        "'folders' has no columns",
        "Leave them out",
        ["a"],
        {"columns": {"text": 1}},
        "a",
    ),
    one("running", "b.txt", "a text", None, "'text' has no columns", "Leave them out", columns={"text": 1}),
    one("running", "a.txt", "\n\n", None, "no examples", "the file is empty"),
]
