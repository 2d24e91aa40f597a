"""Whatever happens to a file, it is read or it is refused in words that name it: seeded damage to every file."""

import random

import pytest

from tests.data.formats import write
from tests.data.formats.test_pairs import SEGMENT, tmx
from tests.data.formats.test_tagged import CONLL_2003, UNIVERSAL
from tests.data.formats.test_written import CASES, HERE
from zoo.data.formats import detect, read

MADE = {
    "a.tmx": ("pairs", tmx([[("en-US", SEGMENT), ("de-AT", " OK drücken ")], [("en-US", "alone")]])),
    "a.conll": ("tagged", CONLL_2003.encode()),
    "a.conllu": ("tagged", UNIVERSAL.encode()),
}
FILES = [(kind, {f"{kind}{name}": (HERE / f"{kind}{name}").read_bytes() for name in names}) for kind, names in CASES]
FILES += [(kind, {name: data}) for name, (kind, data) in MADE.items()]
PIECES = [
    b'"',
    b",",
    b";",
    b"\n",
    b"\r",
    b"\t",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xc2\xa0",
    b" ",
    b"#",
    b"-",
    b"<",
    b"&a;",
]
PIECES += [b"{", b"}", b"[", b"]", b"[" * 5000, b"null", b"NaN", b"1e999", b"\\", b"\\ud800", b"1", b"9" * 5000]


def damaged(data, chance):
    """The bytes with one to four pieces put in, taken out, doubled or changed, or cut off."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0 | 1:
                data[at:at] = chance.choice(PIECES)
            case 2:
                del data[at : at + chance.choice([1, 1, 3, 20])]
            case 3:
                data[at:at] = data[at : at + 30]
            case 4 if data:
                data[at % len(data)] = chance.randrange(256)
            case 5 if chance.random() < 0.5:
                del data[at:]
    return bytes(data)


@pytest.mark.parametrize(("kind", "files"), FILES, ids=[next(iter(files)) for _, files in FILES])
def test_damage_is_told(tmp_path, kind, files):
    chance = random.Random(f"{kind} {list(files)}")
    for _ in range(12):
        paths = [write(tmp_path / name, damaged(data, chance)) for name, data in files.items()]
        for look in (read, detect):
            try:
                found = look(paths, kind)
            except ValueError as error:
                assert str(tmp_path) in str(error)
            else:
                assert look is detect or len(found.inputs) == len(found.answers) == len(found) > 0
