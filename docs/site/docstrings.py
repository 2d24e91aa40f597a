"""The house's docstrings as those of Google's style: `Example:` is `Examples:`, and call arguments are a list."""

import re

import griffe

CALL = re.compile(r"^Call arguments:\n((?:    .*\n?)+)", re.MULTILINE)
ENTRY = re.compile(r"^    (\w[\w, ]*): ", re.MULTILINE)


class HouseStyle(griffe.Extension):
    def on_object(self, *, obj, **kwargs):
        if obj.docstring:
            text = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
            obj.docstring.value = CALL.sub(_listed, text)


def _listed(match):
    return "**Call arguments:**\n\n" + ENTRY.sub(r"- **`\1`**: ", match[1])
