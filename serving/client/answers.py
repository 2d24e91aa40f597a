"""From the columns of an answer to the results that `serving.runtime.Runtime` gives."""

from dataclasses import replace

from serving.client.errors import AnswerError
from serving.kinds import KINDS, find_kind


def kind_of(description, where):
    """The kind of a model, by its outputs and inputs, and its sides. A model that continues texts looks like one that
    writes an output for a text.

    Raises:
        AnswerError: the model is of no kind that answers texts.
    """
    kind = find_kind(description.inputs, description.outputs)
    if kind is None:
        marks = dict.fromkeys(each.mark for each in KINDS.values() if each.mark)
        raise AnswerError(
            f"{where} has no model of texts there: expected one of the outputs {', '.join(marks)}, it has "
            f"{', '.join(description.outputs) or 'none'}."
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
    counts = {name: len(values) for name, values in columns.items() if len(values) != count}
    if counts:
        raise ValueError(f"{count} texts were asked, and {counts} rows came back")
    remarks = zip(*(columns.get(name, [""] * count) for name in ("errors", "warnings")), strict=True)
    return [
        replace(result, error=error or None, warning=warning or None)
        for result, (error, warning) in zip(kind.read(texts, columns, labels), remarks, strict=True)
    ]
