"""Nested dicts as TOML. Whatever the values are, a reader of TOML gets them back and nothing else."""

import json
import math
import re

from zoo.core.escaping import in_line

BARE = re.compile(r"[A-Za-z0-9_-]+")  # what stands without quotation marks as a key


def toml(settings, prefix=""):
    """The TOML text of nested dicts."""
    lines = [line(key, value) for key, value in settings.items() if not _is_table(value)]
    for key, value in settings.items():
        if _is_table(value) and value:
            lines.append(f"\n[{prefix}{_key(key)}]\n{toml(value, f'{prefix}{_key(key)}.')}")
    return "".join(lines)


def _is_table(value):
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _key(name):
    return name if BARE.fullmatch(name) else literal(name)


def literal(value):
    """A value as TOML writes it, in one line.

    Raises:
        ValueError: TOML cannot express it: a text that no encoding has, such as the name of a file that is no UTF-8.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # nan, inf and -inf, where JSON has other words
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {literal(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{in_line(value)!r} holds bytes that are no UTF-8, which no recipe can name. Rename it.")
    return in_line(json.dumps(value, ensure_ascii=False))  # the escapes of JSON are TOML's, too


def comment(text):
    """A text as a comment of its own line, whatever it holds: nothing of it becomes a setting."""
    return f"# {in_line(text)}\n"


def line(key, value, meaning=""):
    """One setting, with what it means behind it."""
    text = f"{_key(key)} = {literal(value)}"
    return f"{text:<39} {comment(meaning)}" if meaning else f"{text}\n"
