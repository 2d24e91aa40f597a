"""From the columns of an answer to the results that `serving.runtime.Runtime` gives."""

from dataclasses import replace

from serving.client.errors import AnswerError
from serving.kinds import KINDS, find_kind


def kind_of(described, where):
    """The kind of a model, by its outputs and inputs, and its sides. One that continues texts passes for one that
    writes an output for a text.

    Raises:
        AnswerError: it is none that answers texts.
    """
    kind = find_kind(described.inputs, described.outputs)
    if kind is None:
        marks = dict.fromkeys(each.mark for each in KINDS.values() if each.mark)
        raise AnswerError(
            f"{where} has no model of texts there: expected one of the outputs {', '.join(marks)}, it has "
            f"{', '.join(described.outputs) or 'none'}."
        )
    return kind


def results(kind, texts, columns, labels):
    """A result for each text.

    Args:
        kind: a `serving.kinds.base.Kind`.
        texts: the texts that were asked.
        columns: the outputs, lists by name with a row for each text.
        labels: the names of the labels in the order of their ids, if they are known.

    Raises:
        ValueError, KeyError, TypeError: the columns do not fit the kind or the texts.
    """
    count = len(texts)
    wrong = {name: len(values) for name, values in columns.items() if len(values) != count}
    if wrong:
        raise ValueError(f"{count} texts were asked, and {wrong} rows came back")
    remarks = zip(*(columns.get(name, [""] * count) for name in ("errors", "warnings")), strict=True)
    return [
        replace(made, error=error or None, warning=warning or None)
        for made, (error, warning) in zip(kind.read(texts, columns, labels), remarks, strict=True)
    ]
