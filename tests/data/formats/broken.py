"""Broken files, one variant a row, with what their messages say; `test_broken.py` reads them."""

import gzip
import lzma
from dataclasses import dataclass, field

GOOD = "text,label\ngood,pos\nbad,neg\n"
TMX = "<?xml version='1.0'?>\n{0}<tmx version='1.4'><header srclang='en'/>\n<body>{1}</body></tmx>"
BOMB = "<!DOCTYPE tmx [<!ENTITY a 'ha'>]>\n"
SPANS = '{{"text": "Ann is here", "entities": [[0, 3, "PER"]]}}\n{{"text": "abc d", "entities": {0}}}\n'
CONLLU = "1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"


@dataclass
class Broken:
    """One variant; `line` is None where no line is to be named, and `at` the file that the message names."""

    kind: str
    files: dict  # name -> content; None for a folder
    line: int | None
    found: str
    mend: str
    read: list | None = None  # the files that are read, if not all of them
    options: dict = field(default_factory=dict)
    at: str | None = None


def one(kind, name, data, line, found, mend, **options):
    return Broken(kind, {name: data}, line, found, mend, options=options)


FILES = [
    Broken("labelled", {"reviews.csv": GOOD}, None, "no file", "Did you mean", ["review.csv"], at="review.csv"),
    Broken(
        "pairs",
        {"folder/a.de": "x\n", "a.en": "y\n"},
        None,
        "is a folder",
        "such as a.de",
        ["folder", "a.en"],
        at="folder",
    ),
    one("labelled", "a.csv", "", None, "is empty", "expected one example a line"),
    one("labelled", "a.csv", "text,label\n", None, "no examples", "a header alone"),
    one("labelled", "a.csv", "text,label\ngood,pos\nb\0ad,neg\n", 3, "byte 1 of the line is NUL", "utf-16-le"),
    one("labelled", "a.csv", "text,label\ngood,pos\nsüß,neg\n".encode("latin-1"), 3, "0xfc", "encoding='cp1252'"),
    one("labelled", "a.csv", GOOD.encode("utf-16"), 1, "the mark of UTF-16", "encoding='utf-16'"),
    one("labelled", "a.csv", GOOD, None, "no encoding 'utf-9'", "such as utf-8", encoding="utf-9"),
    one("labelled", "a.csv.gz", gzip.compress(GOOD.encode() * 99)[:-9], None, "not a whole gz file", "Fetch it again"),
    one("labelled", "a.csv.gz", GOOD, None, "not a whole gz file", "rename it without .gz"),
    one("labelled", "a.csv.xz", lzma.compress(GOOD.encode())[:-9], None, "not a whole xz file", "Fetch it again"),
    one("labelled", "a.csv.xz", GOOD, None, "not a whole xz file", "rename it without .xz"),
    one("labelled", "a.csv", gzip.compress(GOOD.encode()), None, "compressed with gzip", "end in .gz"),
    one("labelled", "a.csv", b"PK\x03\x04\x14\0", None, "zip archive or an Excel workbook", "save the workbook as CSV"),
    one("labelled", "a.docx", "text", None, "suffix '.docx'", "Name one with format=..."),
    one("labelled", "a.csv", GOOD, None, "no format 'cvs'", "Did you mean 'csv'", format="cvs"),
]
TABLES = [
    one("labelled", "a.csv", GOOD + "so, so,neg\n", 4, "3 columns in 'so, so,neg'", "put it in double quotes"),
    one("labelled", "a.csv", GOOD + "so\n", 4, "1 column in 'so'", "Add what is missing"),
    one("labelled", "a.tsv", "a b\tx\nc\td\ty\ne f\ty\n", 2, "3 columns", "Take out the tab"),
    one(
        "labelled",
        "a.csv",
        GOOD + '"so,neg\nx,y\n',
        4,
        "opens a quote that is not closed (read on to line 5)",
        "Close it",
    ),
    one("labelled", "a.csv", GOOD + '"so" so,neg\n', 4, "text follows a closing quote", "double"),
    one("labelled", "a.csv", GOOD.replace("\n", "\r"), 1, "a carriage return stands alone", "tr "),
    one(
        "labelled", "a.csv", GOOD, 1, "no column 'lable' for label", "Did you mean 'label'", columns={"label": "lable"}
    ),
    one(
        "labelled",
        "a.csv",
        GOOD,
        1,
        "no column 3 (counted from 1) for label; line 1 names 1 'text', 2 'label'",
        "1 'text', 2 'label'",
        columns={"label": 3},
    ),
    one(
        "labelled",
        "a.csv",
        "So good!,pos\nSo bad.,neg\n",
        1,
        "no header, and line 1 has 1 ('So good!')",
        "Say the number of the column",
        columns={"label": "label"},
    ),
    one("labelled", "a.csv", "a,a,b\nx y,z,1\n", 1, "2 columns are named 'a'", "say the number", columns={"text": "a"}),
    one("labelled", "a.csv", "x y,z w,3\nx u,z v,1\n", 1, "Found 3 columns and no header: 1 ('x y')", "columns={"),
    one("labelled", "a.csv", GOOD, None, "received 'lable'", "Did you mean 'label'", columns={"lable": 1}),
    one("labelled", "a.csv", GOOD, None, "received 0", "counted from 1", columns={"label": 0}),
    one("labelled", "a.csv", GOOD, None, "header must be true or false", "received 'no'", columns={"header": "no"}),
    one("labelled", "a.csv", GOOD + " ,neg\n", 4, "the text is empty", "delete the example"),
    one("labelled", "a.csv", GOOD + "so,\n", 4, "the label is empty", "Fill it in"),
    one(
        "labelled",
        "a.csv",
        "text,label\ngood,pos\nfine,pos\n",
        None,
        "1 label in 2 examples (pos)",
        "Check which column",
    ),
    one(
        "labelled",
        "b.csv",
        "".join(f"text {n},value {n}\n" for n in range(200)),
        None,
        "200 different labels in 200",
        "Check which column is the label",
    ),
    one("compared", "a.csv", "sentence1,sentence2,label\na,b,1\n,d,0\n", 3, "the first text is empty", "delete"),
    one("tagged", "a.tsv", "Dogs bark\tNOUN VERB\nCats\tNOUN VERB\n", 2, "1 word and 2 tags", "as many tags as words"),
]
JSON = [
    one("labelled", "a.jsonl", "\n\n", None, "is empty", "one JSON object a line"),
    one(
        "labelled",
        "a.jsonl",
        '{"text": "a", "label": "b"}\n{"text": "a", \n',
        2,
        "no JSON at character",
        "Mend the line",
    ),
    one("labelled", "a.json", '[{"text": "a", "label": "b"}]', 1, "is no JSON object", "jq -c"),
    one("labelled", "a.json", '[\n {"text": "a",\n "label": "b"}\n]', 1, "over several lines", "lines=True"),
    one("labelled", "a.jsonl", '{"text": "a", "label": "b"}\n17\n', 2, "17 is no JSON object", "one object a line"),
    one("labelled", "a.jsonl", '{"text": "a", "label": "b"}\n{"text": "a"}\n', 2, "has no 'label'", "Add it"),
    one("labelled", "a.jsonl", '{"body": "a", "kind": "b"}\n', 1, "which entry is label?", "Say it by name"),
    one("labelled", "a.jsonl", '{"text": {"de": "a"}, "label": "b"}\n', 1, "which entry is text?", "text.de"),
    one(
        "labelled",
        "a.jsonl",
        '{"text": "a", "label": "b"}\n{"text": {"de": "a"}, "label": "b"}\n',
        2,
        "the text is {'de': 'a'}; expected a string",
        '"outer.de"',
    ),
    one("labelled", "a.jsonl", '{"text": null, "label": "b"}\n', 1, "the text is missing (null)", "Fill it in"),
    one("labelled", "a.jsonl", '{"text": "a", "label": NaN}\n', 1, "the label is empty", "Fill it in"),
    one(
        "labelled",
        "a.jsonl",
        '{"text": "a", "label": ["x", "y"]}\n',
        1,
        "the label is ['x', 'y']",
        "Name another column",
    ),
    one("labelled", "a.jsonl", '{"text": "a \\ud800", "label": "b"}\n', 1, "half of a surrogate pair", "as UTF-8"),
    one("tagged", "a.jsonl", '{"tokens": ["a", ""], "tags": ["X", "Y"]}\n', 1, "word 2 is ''", "neither to be empty"),
    one("tagged", "a.jsonl", '{"tokens": {"a": 1}, "tags": "X"}\n', 1, "which entry is words?", "Say it by name"),
]
TABLES += [
    one(
        "tagged",
        "c.jsonl",
        '{"tokens": ["a"], "tags": ["b"]}',
        None,
        "'sentence' is of another format",
        "Leave it out",
        columns={"sentence": "id"},
    ),
    one(
        "tagged",
        "a.csv",
        "word,tag\nEU,B-ORG\nsays,O\n",
        1,
        "no column tells the sentence",
        'columns={"sentence": ...}',
    ),
    one("labelled", "c.tsv", "good\tpos\rbad\tneg\r", 1, "a carriage return stands alone", "tr "),
    one(
        "labelled", "c.csv", 'text,label\ngood, "a, b"\nbad,x\n', 2, "3 columns", "Take out the space before the quote"
    ),
    one("tagged", "b.conll", "EU\tB-ORG\nsays\t\n", 2, "no word or no tag in 'says\\t'", "Add what is missing"),
]
SPANNED = [
    one("tagged", "a.jsonl", SPANS.format('[[0, 3, "A"], [2, 5, "B"]]'), 2, "overlap in 'abc d'", "Delete one of them"),
    one(
        "tagged",
        "a.jsonl",
        SPANS.format('[[0, 9, "A"]]'),
        2,
        "outside its text, which has 5 characters",
        "not in bytes",
    ),
    one("tagged", "a.jsonl", SPANS.format('[[3, 4, "A"]]'), 2, "there is no word in it", "Delete it"),
    one("tagged", "a.jsonl", SPANS.format('[[0, 1, "A"], [1, 3, "B"]]'), 2, "share the word 'abc'", '"tokens"'),
    one("tagged", "a.jsonl", SPANS.format('[{"start": "0"}]'), 2, "is no span", '"end": 5, "label"'),
    one("tagged", "a.jsonl", SPANS.format('[], "tokens": ["abc", "e"]'), 2, "the token 'e' does not stand", "in order"),
    one("tagged", "a.jsonl", SPANS.format("{}"), 2, "the spans are {}", "expected a list"),
]
CONLL = [
    one("tagged", "a.conll", "EU B-ORG\nsays O\n\nPeter\n", 4, "1 column in 'Peter'; expected 2", "blank line"),
    one("tagged", "a.conll", "EU\nsays\n\nPeter\n", 1, "one column in 'EU'", "with a tab or spaces"),
    one(
        "tagged",
        "a.conll",
        "EU B-ORG\nsays O\n",
        1,
        "no column 3 (counted from 1) for tags",
        "2 ('B-ORG')",
        columns={"tags": 3},
    ),
    one("tagged", "a.conllu", CONLLU, 1, "no column 'pos' for tags", "'xpos'", columns={"tags": "pos"}),
    one("tagged", "a.conll", "\n\n", None, "is empty", "one word a line"),
    one("tagged", "a.conll", "EU O\nsays O\n", None, "1 tag in 1 example (O)", "Check which column"),
]
PAIRS = [
    Broken("pairs", {"a.de": "1\n2\n3\n", "a.en": "1\n2\n"}, 3, "a.de has 3 lines, ", "must belong", at="a.en"),
    Broken(
        "pairs",
        {"a.de": "1\n2\n3\n", "a.en": "1\n \n3\n"},
        2,
        "the target line is empty",
        "Remove the line from all files",
        at="a.en",
    ),
    Broken(
        "pairs",
        {"a.de": "1\n", "a.en": "1\n", "a.fr": "1\n"},
        None,
        "suffix '.de'",
        "one file each: source, target",
        at="a.de",
    ),
    Broken(
        "pairs",
        {"a.de": "1\n", "a.en": "1\n"},
        None,
        "received {'source': 2, 'target': 2}",
        "Name each of them once",
        options={"columns": {"source": 2}},
        at="a.de",
    ),
    one("pairs", "a.txt", "Hallo\nWelt\n", None, "suffix '.txt'", "one file each: source, target"),
    one("pairs", "a.tmx", "<tmx><body>", 1, "no XML at column 12 (no element found)", "write it again"),
    one("pairs", "a.tmx", TMX.format(BOMB, ""), 2, "declares the entity 'a'", "delete the declaration"),
    one("pairs", "a.tmx", "<?xml version='1.0' encoding='UTF-9'?>\n<tmx/>", 1, "in the encoding 'UTF-9'", "as UTF-8"),
    one("pairs", "b.tmx", "<?xml version='1.0' encoding='gb2312'?>\n<tmx/>", 1, "in the encoding 'gb2312'", "as UTF-8"),
    one("pairs", "a.tmx", "<html/>", 1, "the document is <html>", "expected <tmx>"),
    one("pairs", "a.tmx", TMX.format("", ""), None, "no translation units", "<tuv> for each language"),
    one(
        "pairs",
        "a.tmx",
        TMX.format("", "<tu><tuv><seg>x</seg></tuv></tu>"),
        3,
        "without xml:lang",
        "the language of every",
    ),
    one(
        "pairs",
        "a.tmx",
        TMX.format("", "<tu><tuv xml:lang='en'><seg>x</seg></tuv></tu>"),
        None,
        "the language en alone",
        "expected a source and a target",
    ),
    one("pairs", "a.tmx.gz", b"<tmx/>", None, "not a whole gz file", "rename it"),
]
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
    Broken("labelled", {"a/pos/1": "x", "a/neg/1": " \n"}, None, "the file is empty", "Delete it", ["a"], at="a/neg/1"),
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
TABLE = [*FILES, *TABLES, *JSON, *SPANNED, *CONLL, *PAIRS, *FOLDERS]
