"""Files that are not there, empty, damaged, compressed under another name, or in another encoding."""

import gzip
import lzma

from tests.data.formats.broken.variant import GOOD, Broken, one

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
    one("labelled", "a.csv", "text,label\ngood,pos\nb\0ad,neg\n", 3, "byte 1 of the line is NUL", "take them out"),
    one("labelled", "a.csv", "text,label\ngood,pos\nsüß,neg\n".encode("latin-1"), 3, "0xfc", "encoding='cp1252'"),
    one("labelled", "a.csv", GOOD.encode("utf-16"), 1, "the mark of UTF-16", "encoding='utf-16'"),
    one("labelled", "a.csv", GOOD.encode("utf-32"), 1, "the mark of UTF-32", "encoding='utf-32'"),
    one("labelled", "a.csv", GOOD.encode("utf-32-be"), 1, "byte 0 of the line is NUL", "encoding='utf-32-be'"),
    one("labelled", "a.csv", b"SQLite format 3\0" + bytes(range(100)), 1, "is NUL", "leave the file out"),
    one(
        "labelled",
        "a.csv",
        b"version https://git-lfs.github.com/spec/v1\n",
        None,
        "a pointer of Git LFS",
        "git lfs pull",
    ),
    one("pairs", "a.tmx", gzip.compress(b"<tmx/>"), None, "a.tmx is compressed with gzip", "end in .gz"),
    one("labelled", "a.csv", GOOD, None, "no encoding 'base64'", "such as utf-8", encoding="base64"),
    one("labelled", "a.csv", GOOD, 1, "the line is not punycode", "read it so", encoding="punycode"),
    one("labelled", "a.csv", GOOD, None, "no encoding 'utf-9'", "such as utf-8", encoding="utf-9"),
    one("labelled", "a.csv.gz", gzip.compress(GOOD.encode() * 99)[:-9], None, "a whole gzip file", "Fetch it again"),
    one("labelled", "a.csv.gz", GOOD, None, "not a whole gzip file", "rename it without .gz"),
    one("labelled", "a.csv.xz", lzma.compress(GOOD.encode())[:-9], None, "not a whole xz file", "Fetch it again"),
    one("labelled", "a.csv.xz", GOOD, None, "not a whole xz file", "rename it without .xz"),
    one("labelled", "a.csv", gzip.compress(GOOD.encode()), None, "compressed with gzip", "end in .gz"),
    one("labelled", "a.csv", b"PK\x03\x04\x14\0", None, "zip archive or an Excel workbook", "save the workbook as CSV"),
    one("labelled", "a.docx", "text", None, "suffix '.docx'", "Name one with format=..."),
    one("labelled", "a.csv", GOOD, None, "no format 'cvs'", "Did you mean 'csv'", format="cvs"),
]
