"""YAML as Marian writes it: settings and vocabularies. Anchors, tags and what is there twice are refused."""

import math
import re
from itertools import islice, takewhile

import yaml

from zoo.pretrained.reading import MOST_BYTES

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without libyaml; vocabularies then take many seconds
    from yaml import SafeLoader

NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(path):
    """`parse_yaml` of a file of at most 64 MB."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has {path.stat().st_size:,} bytes; expected at most {MOST_BYTES:,}.")
    return parse_yaml(path.read_text(encoding="utf-8", errors="replace"), path)


def parse_yaml(text, where):
    """The dict of a document. Keys are texts as they stand; values in quotation marks are texts, others may be numbers,
    true, false or nothing.

    Raises:
        ValueError: it is no YAML, or more of it than is read here.
    """
    try:
        events = yaml.parse(text, Loader=SafeLoader)
        *_, begun = islice(events, 3)  # behind those of the stream and the document
        if not isinstance(begun, yaml.MappingStartEvent):
            raise ValueError("it holds no settings by name")
        return _value(begun, events)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        told = " ".join(str(error).split())
        raise ValueError(f"{where} cannot be read as YAML: {told}") from error


def _value(event, events):
    if isinstance(event, yaml.AliasEvent) or event.tag:
        raise ValueError(f"it has an anchor or a tag at line {event.start_mark.line + 1}, which are not read here")
    if isinstance(event, yaml.ScalarEvent):
        return event.value if event.style else _plain(event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(each, events) for each in takewhile(_is_item, events)]
    found = {}
    for key in takewhile(_is_item, events):
        if not isinstance(key, yaml.ScalarEvent):
            raise ValueError(f"it has a key that is no text at line {key.start_mark.line + 1}")
        if key.value in found:
            raise ValueError(f"it has {key.value!r} twice")
        found[key.value] = _value(next(events), events)
    return found


def _is_item(event):
    return not isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent)


def _plain(word):
    if not NUMBER.fullmatch(word):
        return WORDS.get(word, word)
    if not math.isfinite(float(word)):
        raise ValueError(f"it holds {word}, which is no number")
    return int(word) if word.lstrip("+-").isdigit() else float(word)
