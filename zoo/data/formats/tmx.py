"""TMX 1.4, the exchange format of translation memories (https://www.gala-global.org/tmx-14b).

Read with expat, unit by unit. A document that declares entities is refused, because they can expand without bound, and
nothing outside of the file is fetched.
"""

from collections import Counter
from itertools import combinations, islice
from xml.parsers import expat

from zoo.data.formats.base import Format, Layout, say_columns
from zoo.data.formats.opening import BROKEN, check_text, not_whole, open_bytes

_CODES = {"bpt", "ept", "ph", "it", "ut", "sub"}  # the inline elements that hold no text of the language
_CHUNK = 1 << 16
_LOOKED_AT = 1000  # units
_ABSENT = object()


class Tmx(Format):
    """Translation units; the columns are languages, such as de or de-AT."""

    name, suffixes, kinds = "tmx", (".tmx",), ("pairs",)

    def layout(self, files, request):
        path, seen, pairs, source = files[0], {}, Counter(), None
        for _, header, unit in islice(units(path), _LOOKED_AT):
            source = source or header
            seen |= dict.fromkeys(language for language, _ in unit)
            there = {language for language, _ in unit}
            pairs.update(combinations([each for each in seen if each in there], 2))
        if not seen:
            raise ValueError(f"{path} has no translation units; expected <tu> elements with a <tuv> for each language.")
        requested = {role: column for role, column in request.columns.items() if role in request.roles}
        for role, language in requested.items():
            if not any(_matches(each, str(language)) for each in seen):
                raise ValueError(
                    f"{path}: no language {language!r} for {role}; the file has {', '.join(seen)}. Say one of them; "
                    "de stands for de-DE and de-AT, too."
                )
        return Layout(*_languages(path, requested, list(seen), pairs, source), {})

    def rows(self, files, request, layout, problems):
        source, target = layout.columns["source"], layout.columns["target"]
        for line, _, unit in units(files[0]):
            sides = [
                (language, next((text for each, text in unit if _matches(each, str(language))), _ABSENT))
                for language in (source, target)
            ]
            lacking = next(
                ((language, text) for language, text in sides if text is _ABSENT or not (text or "").strip()), None
            )
            if lacking is None:
                yield line, tuple(text.strip() for _, text in sides)
            elif lacking[1] is _ABSENT:
                problems.leave_out(f"units without {source} or {target}, left out", files[0], line)
            else:
                what = "no <seg>" if lacking[1] is None else "an empty <seg>"
                message = (
                    f"the unit at line {line} has {what} in {lacking[0]}; expected text. Add it, or delete the unit."
                )
                problems.lack("a segment", message, files[0], line)


def units(path: str):
    """(line, source language of the header, [(language, text), ...]) of every unit; None where there is no segment.

    Raises:
        ValueError: no XML, no TMX, or a document that declares entities; names the file and the line.
    """
    reader = _Reader()
    try:
        with open_bytes(path) as stream:
            while chunk := stream.read(_CHUNK):
                if reader.parser.CurrentByteIndex <= 0:
                    check_text(path, chunk)
                reader.parse(path, chunk)
                yield from reader.take()
            reader.parse(path, b"")
            yield from reader.take()
    except expat.ExpatError as error:
        raise ValueError(
            f"{path}:{error.lineno}: no XML at column {error.offset + 1} ({expat.ErrorString(error.code)}). Expected a "
            "whole TMX file; write it again with the program that it comes from."
        ) from error
    except _Refused as refused:
        raise ValueError(f"{path}:{reader.parser.CurrentLineNumber}: {refused}") from refused
    except BROKEN as error:
        raise not_whole(path, error) from error


class _Refused(Exception):
    pass


class _Reader:
    """Collects the units that a parser meets."""

    def __init__(self):
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler, self.parser.XmlDeclHandler = self._characters, self._declaration
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._skipped_entity
        self._units, self._source, self._root, self._encoding = [], None, None, None
        self._unit, self._language, self._segment, self._text, self._codes, self._line = None, None, None, None, 0, 0

    def parse(self, path, chunk):
        """Reads on; an empty chunk is the end."""
        try:
            self.parser.Parse(chunk, not chunk)
        except (LookupError, ValueError) as error:  # a codec that Python lacks, or one of several bytes a character
            raise ValueError(
                f"{path}:{self.parser.CurrentLineNumber}: the document says that it is in the encoding "
                f"{self._encoding!r}, which is not read ({error}). Save it as UTF-8."
            ) from error

    def take(self):
        units, self._units = self._units, []
        return units

    def _declaration(self, version, encoding, standalone):
        self._encoding = encoding

    def _start(self, name, attributes):
        if self._root is None:
            self._root = name
            if name != "tmx":
                raise _Refused(f"the document is <{name}>; expected <tmx>.")
        if name == "tu" and self._unit is not None or name == "seg" and self._text is not None:
            raise _Refused(f"a <{name}> inside another; expected each to end before the next one begins.")
        if name == "header":
            self._source = attributes.get("srclang")
        elif name == "tu":
            self._unit, self._line = [], self.parser.CurrentLineNumber
        elif name == "tuv":
            self._language, self._segment = attributes.get("xml:lang", attributes.get("lang")), None
            if self._language is None:
                raise _Refused("a <tuv> without xml:lang; expected the language of every variant.")
        elif name == "seg":
            self._text = []
        elif name in _CODES and self._text is not None:
            self._codes += 1

    def _end(self, name):
        if name == "seg" and self._unit is not None:
            self._segment, self._text = "".join(self._text), None
        elif name == "tuv" and self._unit is not None:
            self._unit.append((self._language, self._segment))
        elif name == "tu":
            self._units.append((self._line, self._source, self._unit))
            self._unit = None
        elif name in _CODES and self._text is not None:
            self._codes -= 1

    def _characters(self, text):
        if self._text is not None and not self._codes:
            self._text.append(text)

    def _entity(self, name, *_):
        raise _Refused(
            f"the document declares the entity {name!r}; expected none, because entities can expand without bound. "
            "Replace it by its text and delete the declaration."
        )

    def _skipped_entity(self, name, is_parameter):
        raise _Refused(f"the entity &{name}; is not known; expected text, or one of &amp; &lt; &gt; &quot; &apos;.")


def _matches(language, wanted):
    """Whether de-AT is de: equal, or longer by a region."""
    language, wanted = (each.lower().replace("_", "-") for each in (language, wanted))
    return language == wanted or language.startswith(wanted + "-")


def _languages(path, requested, seen, pairs, source):
    """(columns, why): the languages that were asked for, else the header's source language and the only other one."""
    if len(requested) == 2:
        return requested, "the languages were given"
    if len(seen) == 1:
        raise ValueError(f"{path}: the file has the language {seen[0]} alone; expected a source and a target.")
    if not pairs:
        raise ValueError(
            f"{path}: no unit has two languages; the file has {', '.join(seen)}, each in units of its own. Expected a "
            "<tuv> for each language in the same <tu>."
        )
    if not requested and source and any(_matches(each, source) for each in seen):
        requested = {"source": source}
    if not requested:
        others = list(pairs)
        languages = dict(zip(("source", "target"), others[0], strict=True))
    else:
        own = str(next(iter(requested.values())))
        others = _one_of_regions([_partner(pair, own) for pair in pairs if _partner(pair, own)])
        languages = {role: requested.get(role, others[0] if others else None) for role in ("source", "target")}
    if len(others) != 1:
        counts = ", ".join(f"{one} with {other} in {count:,}" for (one, other), count in pairs.most_common(3))
        proposed = languages if others and requested else dict(zip(languages, pairs.most_common(1)[0][0], strict=True))
        raise ValueError(
            f"{path}: which languages are source and target? The file has {', '.join(seen)}; of the first units "
            f"{counts}. Say {say_columns(proposed)}."
        )
    return (
        languages,
        "the source language of the header and the other one" if requested else "the languages in their order",
    )


def _partner(pair, language):
    """The other language of a pair, if one of them is this."""
    one, other = pair
    return None if _matches(one, language) is _matches(other, language) else other if _matches(one, language) else one


def _one_of_regions(languages):
    """Different languages; de stands for de-DE and de-AT, where nothing else is among them."""
    distinct = list(dict.fromkeys(languages))
    bases = {each.replace("_", "-").partition("-")[0].lower() for each in distinct}
    return list(bases) if len(distinct) > 1 and len(bases) == 1 else distinct
