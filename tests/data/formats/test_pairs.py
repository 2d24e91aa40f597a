"""Line-aligned files and TMX."""

import gzip
import lzma
import xml.etree.ElementTree as etree

import pytest

from tests.data.formats import write
from zoo.data.formats import detect, read

SEGMENT = "Press <bpt i='1'>&lt;b&gt;</bpt>OK<ept i='1'>&lt;/b&gt;</ept> &amp; <hi>go</hi>&#10;on"


def tmx(units, srclang="en-US", before="<!DOCTYPE tmx SYSTEM 'tmx14.dtd'>\n", encoding="UTF-8"):
    """A TMX file; a unit is a list of (language, XML of the segment)."""
    inner = "".join(
        "<tu>" + "".join(f"<tuv xml:lang='{each}'><seg>{text}</seg></tuv>\n" for each, text in unit) + "</tu>\n"
        for unit in units
    )
    header = f"<header srclang='{srclang}' segtype='sentence'/>"
    text = (
        f"<?xml version='1.0' encoding='{encoding}'?>\n{before}<tmx version='1.4'>{header}<body>\n{inner}</body></tmx>"
    )
    return text.encode(encoding)


@pytest.mark.parametrize(("pack", "suffix"), [(bytes, ""), (gzip.compress, ".gz"), (lzma.compress, ".xz")])
def test_aligned_lines(tmp_path, pack, suffix):
    source = write(tmp_path / f"a.de{suffix}", pack("eins\u2028a\r\nzwei".encode()))
    target = write(tmp_path / "a.en", b"\xef\xbb\xbfone\ntwo\n")
    found = read([source, target], "pairs")
    assert (found.inputs, found.answers) == (["eins\u2028a", "zwei"], ["one", "two"])
    assert found.where(1) == f"{source}:2"
    turned = read([source, target], "pairs", columns={"source": 2, "target": 1})
    assert (turned.inputs, turned.answers) == (found.answers, found.inputs)


def test_aligned_lines_of_other_kinds(tmp_path):
    words, tags = write(tmp_path / "seq.in", "play it\nstop\n"), write(tmp_path / "seq.out", "O B-x\nO\n")
    assert read([words, tags], "tagged").answers == ["O B-x", "O"]
    assert read([words, tags], "labelled").answers == ["O B-x", "O"]
    three = read([words, words, write(tmp_path / "label", "yes\nno\n")], "compared")
    assert (three.inputs[0], three.answers) == (("play it", "play it"), ["yes", "no"])


def test_translation_memories(tmp_path):
    units = [[("en-US", SEGMENT), ("de-AT", " OK drücken ")], [("en-US", "alone")], [("en-US", "x"), ("de-AT", " ")]]
    path = write(tmp_path / "a.tmx", tmx(units))
    found = read(path, "pairs")
    assert (found.inputs, found.answers) == (["Press OK & go\non"], ["OK drücken"]) and found.where(0) == f"{path}:4"
    assert found.notes == (
        f"units without en-US or de-AT, left out: 1 (the first at {path}:7)",
        f"examples without a segment, left out: 1 (the first at {path}:9)",
    )
    turned = read(path, "pairs", columns={"source": "DE", "target": "en_us"})
    assert (turned.inputs, turned.answers) == (["OK drücken"], ["Press OK & go\non"])
    assert detect(path, "pairs").columns == {"source": "en-US", "target": "de-AT"}


def test_a_variant_without_a_segment(tmp_path):
    before, after = b"<tmx version='1.4'><header srclang='en'/><body><tu><tuv xml:lang='en'/>", b"</tu></body></tmx>"
    for target in (b"<tuv xml:lang='de'><seg>Hallo</seg></tuv>", b"<tuv xml:lang='de'/>"):
        path = write(tmp_path / "a.tmx", before + target + after)
        for options in ({}, {"rules_off": ["empty"]}):
            with pytest.raises(ValueError, match="the unit at line 1 has no <seg> in en; expected text"):
                read(path, "pairs", **options)
    unit = b"</tu><tu><tuv xml:lang='en'><seg>Hello</seg></tuv><tuv xml:lang='de'><seg>Hallo</seg></tuv>"
    path = write(tmp_path / "a.tmx", before + target + unit + after)
    assert read(path, "pairs").inputs == ["Hello"]


MANY = [("en", "a"), ("de", "b"), ("fr", "c"), ("es", "d")]


@pytest.mark.parametrize(
    ("units", "srclang", "said"),
    [
        ([MANY[:2], [MANY[0], MANY[2]]], "en", {"source": "en", "target": "de"}),
        ([MANY[:2], MANY[1:3], MANY[1:3]], "*all*", {"source": "de", "target": "fr"}),
        ([MANY[2:], [MANY[1], MANY[2]], MANY[2:]], "it", {"source": "fr", "target": "es"}),
    ],
)
def test_of_several_languages_a_pair_that_exists_is_proposed(tmp_path, units, srclang, said):
    path = write(tmp_path / "a.tmx", tmx(units, srclang))
    with pytest.raises(ValueError, match=f'"source": {said["source"]!r}, "target": {said["target"]!r}'):
        read(path, "pairs")
    assert len(read(path, "pairs", columns=said)) > 0


def test_of_several_languages_the_only_pair_is_taken(tmp_path):
    """That of the source; of one language in two regions both."""
    path = write(tmp_path / "a.tmx", tmx([MANY[:2], MANY[2:]], "en"))
    assert detect(path, "pairs").columns == {"source": "en", "target": "de"}
    regions = [[("en", "a"), ("de-AT", "b")], [("en", "c"), ("de-DE", "d")]]
    assert read(write(tmp_path / "a.tmx", tmx(regions, "en")), "pairs").answers == ["b", "d"]
    with pytest.raises(ValueError, match="no unit has two languages; the file has en, de, each in units of its own"):
        read(write(tmp_path / "a.tmx", tmx([MANY[:1], MANY[1:2]], "en")), "pairs")


def test_a_large_memory_is_that_of_elementtree(tmp_path):
    """More units than one chunk holds, against Python's own XML library."""
    units = [[("fr", f"numéro {at} " * 20), ("de", f"Nummer {at} " * 20)] for at in range(2000)]
    path = write(tmp_path / "a.tmx", tmx(units, srclang="*all*", before="", encoding="UTF-16"))
    found = read(path, "pairs", columns={"source": "fr"})
    oracle = [[seg.text.strip() for seg in unit.iter("seg")] for unit in etree.parse(path).iter("tu")]
    assert [list(pair) for pair in zip(found.inputs, found.answers, strict=True)] == oracle and len(oracle) == 2000


def test_of_several_languages_two_are_named(tmp_path):
    path = write(tmp_path / "a.tmx", tmx([[("en", "one"), ("de", "eins"), ("fr", "un")]]))
    with pytest.raises(ValueError, match=r"which languages are source and target\? The file has en, de, fr"):
        read(path, "pairs")
    assert read(path, "pairs", columns={"source": "fr", "target": "de"}).inputs == ["un"]
    with pytest.raises(ValueError, match="no language 'es' for target; the file has en, de, fr"):
        read(path, "pairs", columns={"target": "es"})


BOMB = "<!DOCTYPE tmx [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]>\n"


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        (BOMB, "&b;", r"a\.tmx:2: the document declares the entity 'a'"),
        ("<!DOCTYPE tmx [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>", "&x;", "declares the entity 'x'"),
        ("<!DOCTYPE tmx [<!ENTITY % p SYSTEM 'http://localhost/x'> %p;]>", "x", "declares the entity 'p'"),
        ("<!DOCTYPE tmx SYSTEM 'tmx14.dtd'>", "&unknown;", "the entity &unknown; is not known"),
        ("", "&unknown;", r"a\.tmx:4: no XML at column \d+ \(undefined entity\)"),
    ],
)
def test_entities_are_refused(tmp_path, before, text, expected):
    path = write(tmp_path / "a.tmx", tmx([[("en", "one"), ("de", text)]], before=before))
    with pytest.raises(ValueError, match=expected):
        read(path, "pairs", columns={"source": "en", "target": "de"})


def test_one_language_may_be_asked_for_twice(tmp_path):
    path = write(tmp_path / "a.tmx", tmx([[("en", "one"), ("de", "eins")]]))
    assert read(path, "pairs", columns={"source": "de", "target": "de"}).answers == ["eins"]


@pytest.mark.parametrize(
    ("name", "text"), [("seg", "a<seg>b</seg>"), ("tu", "a</seg></tuv><tu></tu><tuv xml:lang='en'><seg>b")]
)
def test_units_inside_each_other_are_told(tmp_path, name, text):
    path = write(tmp_path / "a.tmx", tmx([[("en", text), ("de", "eins")]]))
    with pytest.raises(ValueError, match=f"a.tmx:4: a <{name}> inside another"):
        read(path, "pairs")


def test_the_header_of_aligned_lines_is_no_example(tmp_path):
    files = [write(tmp_path / "a.de", "deutsch\neins\n"), write(tmp_path / "a.en", "englisch\none\n")]
    found = read(files, "pairs", columns={"header": True})
    assert (found.inputs, found.answers, found.where(0)) == (["eins"], ["one"], f"{files[0]}:2")
    assert len(read(files, "pairs", columns={"header": False})) == 2
