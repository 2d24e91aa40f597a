"""TMX 1.4, the exchange format of translation memories (https://www.gala-global.org/tmx-14b).

Read with expat, unit by unit. A document that declares entities is refused, because they can expand without bound, and
nothing outside of the file is fetched.
"""

from xml.parsers import expat

from zoo.data.formats.base import Format, Layout, say_columns
from zoo.data.formats.opening import BROKEN, not_whole, open_bytes

_CODES = {"bpt", "ept", "ph", "it", "ut", "sub"}  # the inline elements that hold no text of the language
_CHUNK = 1 << 16
_LOOKED_AT = 1000  # units


class Tmx(Format):
    """Translation units; the columns are languages, such as de or de-AT."""

    name, suffixes, kinds = "tmx", (".tmx",), ("pairs",)

    def layout(self, files, request):
        path, seen, source = files[0], {}, None
        for number, (_, header, unit) in enumerate(units(path)):
            source = source or header
            for language, _ in unit:
                seen[language] = seen.get(language, 0) + 1
            if number == _LOOKED_AT:
                break
        if not seen:
            raise ValueError(f"{path} has no translation units; expected <tu> elements with a <tuv> for each language.")
        wanted = {role: column for role, column in request.columns.items() if role in request.roles}
        for role, language in wanted.items():
            if not any(_matches(each, str(language)) for each in seen):
                raise ValueError(
                    f"{path}: no language {language!r} for {role}; the file has {', '.join(seen)}. Say one of them; "
                    "de stands for de-DE and de-AT, too."
                )
        return Layout(*_languages(path, wanted, list(seen), source), {})

    def rows(self, files, request, layout, problems):
        source, target = layout.columns["source"], layout.columns["target"]
        for line, _, unit in units(files[0]):
            found = [
                next((text for each, text in unit if _matches(each, str(wanted))), None) for wanted in (source, target)
            ]
            if None in found:
                problems.note(f"units without {source} or {target}, left out")
            elif not all(text.strip() for text in found):
                problems.note("units with an empty segment, left out")
            else:
                yield line, tuple(text.strip() for text in found)


def units(path: str):
    """(line, source language of the header, [(language, text), ...]) of every unit.

    Raises:
        ValueError: no XML, no TMX, or a document that declares entities; names the file and the line.
    """
    reader = _Reader()
    try:
        with open_bytes(path) as stream:
            while chunk := stream.read(_CHUNK):
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
        self.parser.CharacterDataHandler, self.parser.XmlDeclHandler = self._characters, self._declared
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._skipped
        self._units, self._source, self._root, self._encoding = [], None, None, None
        self._unit, self._language, self._text, self._codes, self._line = None, None, None, 0, 0

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
        found, self._units = self._units, []
        return found

    def _declared(self, version, encoding, standalone):
        self._encoding = encoding

    def _start(self, name, attributes):
        if self._root is None:
            self._root = name
            if name != "tmx":
                raise _Refused(f"the document is <{name}>; expected <tmx>.")
        if name == "header":
            self._source = attributes.get("srclang")
        elif name == "tu":
            self._unit, self._line = [], self.parser.CurrentLineNumber
        elif name == "tuv":
            self._language = attributes.get("xml:lang", attributes.get("lang"))
            if self._language is None:
                raise _Refused("a <tuv> without xml:lang; expected the language of every variant.")
        elif name == "seg":
            self._text = []
        elif name in _CODES and self._text is not None:
            self._codes += 1

    def _end(self, name):
        if name == "seg" and self._unit is not None:
            self._unit.append((self._language, "".join(self._text)))
            self._text = None
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

    def _skipped(self, name, is_parameter):
        raise _Refused(f"the entity &{name}; is not known; expected text, or one of &amp; &lt; &gt; &quot; &apos;.")


def _matches(language, wanted):
    """Whether de-AT is de: equal, or longer by a region."""
    language, wanted = (each.lower().replace("_", "-") for each in (language, wanted))
    return language == wanted or language.startswith(wanted + "-")


def _languages(path, wanted, seen, source):
    """(columns, why): the languages that were asked for, else the header's source language and the only other one."""
    if len(wanted) == 2:
        return wanted, "the languages were given"
    if not wanted and source and any(_matches(each, source) for each in seen):
        wanted = {"source": source}
    bases = list(dict.fromkeys(each for each in seen if not any(_matches(each, str(one)) for one in wanted.values())))
    missing = [role for role in ("source", "target") if role not in wanted]
    if len(seen) == 1:
        raise ValueError(f"{path}: the file has the language {seen[0]} alone; expected a source and a target.")
    if len(bases) != len(missing):
        raise ValueError(
            f"{path}: which languages are source and target? The file has {', '.join(seen)}. Say "
            f"{say_columns({'source': seen[0], 'target': seen[-1]})}."
        )
    why = "the source language of the header and the other one" if len(missing) == 1 else "the languages in their order"
    return {"source": None, "target": None} | wanted | dict(zip(missing, bases, strict=True)), why
