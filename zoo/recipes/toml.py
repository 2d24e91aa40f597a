"""Nested dicts as TOML."""

import json
import re

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
    """A value as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which JSON lets stand, and TOML does not


def line(key, value, comment=""):
    """One setting, with what it means behind it."""
    text = f"{_key(key)} = {literal(value)}"
    return f"{text:<39} # {comment}\n" if comment else f"{text}\n"
