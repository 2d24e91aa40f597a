"""Examples that are given as Python values instead of files, such as `[("Who is it?", "person"), ...]`."""

from collections.abc import Iterable

from zoo.data.formats.base import KINDS, Lacking, Problems, Wrong
from zoo.data.formats.examples import Examples, make_example

SHAPES = {  # of an example, as a message shows it
    "pairs": "(source, target)",
    "labelled": "(text, label)",
    "compared": "((first, second), label)",
    "rated": "(text, number)",
    "scored": "((first, second), number)",
    "tagged": "(words, tags)",
    "running": "one string",
}


def make_examples(kind, split, data, rules_off=()):
    """The `Examples` of (input, answer) pairs; running text is one string.

    Args:
        kind: of the examples, see `zoo.data.formats`.
        split: its name, for messages.
        data: `Examples`, a list, or any iterable of pairs. Words and tags may be lists, or strings with spaces.
        rules_off: rules of mending that are not applied, of `zoo.data.formats.base.RULES`.

    Raises:
        ValueError: there are none, or some are not as they should be; the message names the first five.
    """
    if isinstance(data, Examples):
        if data.kind != kind:
            raise ValueError(f"{split}: expected {KINDS[kind]}; received examples of the kind {data.kind!r}.")
        return data
    if not isinstance(data, Iterable):
        raise ValueError(f"{split}: expected {KINDS[kind]}, a list of {SHAPES[kind]}; received {data!r:.60}.")
    rows = [data] if isinstance(data, str) else list(data)
    inputs, answers, problems = [], [], Problems(rules_off)
    for number, row in enumerate(rows, 1):
        try:
            text, answer = make_example(kind, _values_by_role(kind, row), problems)
        except Lacking as lacking:
            problems.lack(lacking.what, str(lacking), f"{split}, example", number)
            continue
        except Wrong as wrong:
            problems.add(f"{split}, example", number, str(wrong))
            continue
        inputs.append(text)
        answers.append(answer)
    problems.check()
    if not inputs:
        left_out = f" All are left out: {'; '.join(problems.notes)}." if rows else ""
        raise ValueError(f"{split} has no examples; expected {KINDS[kind]}, each {SHAPES[kind]}.{left_out}")
    if kind == "running":
        inputs, answers = ["\n".join(inputs)], [""]
    return Examples(kind, inputs, answers, notes=problems.notes)


def _values_by_role(kind, row):
    """The values of an example in the order of its kind's roles."""
    if kind == "running":
        return (row,)
    if isinstance(row, tuple | list) and len(row) == 2:
        texts, answer = row
        if kind not in ("compared", "scored"):
            return texts, answer
        if isinstance(texts, tuple | list) and len(texts) == 2:
            return (*texts, answer)
    raise Wrong(f"received {row!r:.60}; expected {SHAPES[kind]}.")
