"""Labelled lines as fastText reads them: `__label__pos a good film`.

A word that begins with `__label__` is a label, wherever it stands; the others are the text.

Joulin et al. (2017), "Bag of Tricks for Efficient Text Classification",
https://fasttext.cc/docs/en/supervised-tutorial.html
"""

import re

from zoo.data.formats.base import Format, Layout, no_columns, quote
from zoo.data.formats.opening import first_lines, lines_of

PREFIX = "__label__"
_LABEL = re.compile(rf"(?:^|(?<=\s)){PREFIX}(\S*)\s*")
_LOOKED_AT = 200


class FastText(Format):
    """One text a line, with its label before it."""

    name, kinds = "fasttext", ("labelled",)

    def claims(self, files, request):
        """Most lines have a label; of a table with commas it is no word by itself."""
        lines = [line for _, line in first_lines(files[0], request, _LOOKED_AT) if line.strip()]
        labels = [label for line in lines for label in _LABEL.findall(line)[:1]]
        return 2 * len(labels) > len(lines) and not all(each.strip(",") != each.replace(",", "") for each in labels)

    def layout(self, files, request):
        no_columns(files[0], self.name, request)
        return Layout({}, f"a text on each line, and its label as {PREFIX}NAME", {})

    def rows(self, files, request, layout, problems):
        for line, text in lines_of(files[0], request):
            if not text.strip():
                problems.blank(files[0], line)
                continue
            labels, rest = _LABEL.findall(text), _LABEL.sub("", text).strip()
            if len(labels) > 1:
                message = f"{len(labels)} labels in {quote(text)}; expected one. Keep the one that matters most."
                problems.add(files[0], line, message)
            elif not any(labels):
                message = (
                    f"no label in {quote(text)}; expected {PREFIX}NAME before the text. Add it, or delete the line."
                )
                problems.lack("a label", message, files[0], line)
            elif not rest:
                message = f"no text behind the label in {quote(text)}; expected some. Add it, or delete the line."
                problems.lack("a text", message, files[0], line)
            else:
                yield line, (rest, labels[0])
