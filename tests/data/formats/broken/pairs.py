"""Parallel text and translation memories that do not belong together line by line, or are no TMX."""

from tests.data.formats.broken.variant import Broken, one

TMX = "<?xml version='1.0'?>\n{0}<tmx version='1.4'><header srclang='en'/>\n<body>{1}</body></tmx>"
BOMB = "<!DOCTYPE tmx [<!ENTITY a 'ha'>]>\n"
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
    one("pairs", "a.tmx.gz", b"<tmx/>", None, "not a whole gzip file", "rename it"),
]
