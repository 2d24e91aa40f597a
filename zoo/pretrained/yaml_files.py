"""YAML as Marian writes it: settings and vocabularies. Anchors, tags and what is there twice are refused."""

import math
import re
from itertools import islice, takewhile

import yaml

from zoo.pretrained.reading import read_bytes

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without libyaml; vocabularies then take many seconds
    from yaml import SafeLoader

NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(path):
    """`parse_yaml` of a file of at most 64 MB."""
    return parse_yaml(read_bytes(path).decode("utf-8", "replace"), path)


def parse_yaml(text, where):
    """The dict of a document.

    Keys are texts as they stand. Values in quotation marks are texts; others may be numbers, true, false or null.

    Raises:
        ValueError: it is no YAML, or more of it than is read here.
    """
    try:
        events = yaml.parse(text, Loader=SafeLoader)
        *_, first_event = islice(events, 3)  # behind those of the stream and the document
        if not isinstance(first_event, yaml.MappingStartEvent):
            raise ValueError("it holds no settings by name")
        return _read_value(first_event, events)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{where} cannot be read as YAML: {reason}") from error


def _read_value(event, events):
    if isinstance(event, yaml.AliasEvent) or event.tag:
        raise ValueError(f"it has an anchor or a tag at line {event.start_mark.line + 1}, which are not read here")
    if isinstance(event, yaml.ScalarEvent):
        return event.value if event.style else _parse_plain(event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        return [_read_value(each, events) for each in takewhile(_is_item, events)]
    mapping = {}
    for key in takewhile(_is_item, events):
        if not isinstance(key, yaml.ScalarEvent):
            raise ValueError(f"it has a key that is no text at line {key.start_mark.line + 1}")
        if key.value in mapping:
            raise ValueError(f"it has {key.value!r} twice")
        mapping[key.value] = _read_value(next(events), events)
    return mapping


def _is_item(event):
    return not isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent)


def _parse_plain(word):
    if not NUMBER.fullmatch(word):
        return WORDS.get(word, word)
    if not math.isfinite(float(word)):
        raise ValueError(f"it holds {word}, which is no number")
    return int(word) if word.lstrip("+-").isdigit() else float(word)
