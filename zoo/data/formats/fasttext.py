"""Labelled lines as fastText reads them: `__label__pos a good film`.

A word that begins with `__label__` is a label, wherever it stands; the others are the text.

Joulin et al. (2017), "Bag of Tricks for Efficient Text Classification",
https://fasttext.cc/docs/en/supervised-tutorial.html
"""

import re

from zoo.data.formats.base import Format, Layout, no_columns, shown
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
                said = f"{len(labels)} labels in {shown(text)}; expected one. Keep the one that matters most."
                problems.add(files[0], line, said)
            elif not any(labels):
                said = f"no label in {shown(text)}; expected {PREFIX}NAME before the text. Add it, or delete the line."
                problems.lack("a label", said, files[0], line)
            elif not rest:
                said = f"no text behind the label in {shown(text)}; expected some. Add it, or delete the line."
                problems.lack("a text", said, files[0], line)
            else:
                yield line, (rest, labels[0])
