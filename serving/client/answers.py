"""From the columns of an answer to the results that `serving.runtime.Runtime` gives."""

from serving.client.errors import AnswerError
from serving.runtime.predictors.results import Hypothesis, Label, Result, Tags, Vector, Word

EMPTY = -1e9  # the score of a place without a hypothesis
MARKS = {
    "label": "classify",
    "tags": "tag",
    "output_text": "generate",
    "vector": "embed",
}  # the output by which a kind is known


def kind_of(described, where):
    """The kind of a model, by its outputs and inputs. One that continues texts cannot be told from "generate".

    Raises:
        AnswerError: it is none that answers texts.
    """
    for name, kind in MARKS.items():
        if name in described.outputs:
            return "compare" if kind == "classify" and len(described.inputs) == 2 else kind
    raise AnswerError(
        f"{where} has no model of texts there: expected one of the outputs {', '.join(MARKS)}, it has "
        f"{', '.join(described.outputs) or 'none'}."
    )


def results(kind, texts, columns, labels):
    """A result for each text.

    Args:
        kind: "generate", "classify", "compare", "tag" or "embed".
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
    remarks = [
        {"error": error or None, "warning": warning or None}
        for error, warning in zip(
            *(columns.get(f"{name}s", [""] * count) for name in ("error", "warning")), strict=True
        )
    ]
    make = {"tag": _tags, "classify": _labels, "compare": _labels, "embed": _vectors}.get(kind, _written)
    return [made(**remark) for made, remark in zip(make(texts, columns, labels), remarks, strict=True)]


def blank(kind, error):
    """The result of a text that is refused before it is sent."""
    if kind == "tag":
        return Tags((), error=error)
    if kind in ("classify", "compare"):
        return Label("", 0.0, {}, error=error)
    if kind == "embed":
        return Vector((), error=error)
    return Result("", 0.0, (Hypothesis("", 0.0),), error=error)


def _written(texts, columns, labels):
    for outputs, scores in zip(columns["output_text"], columns["scores"], strict=True):
        if isinstance(outputs, str):
            outputs, scores = [outputs], [scores]
        found = [
            Hypothesis(text, float(score))
            for place, (text, score) in enumerate(zip(outputs, scores, strict=True))
            if place == 0 or score > EMPTY
        ]
        yield _later(Result, found[0].text, found[0].score, tuple(found))


def _labels(texts, columns, labels):
    rows = columns.get("probabilities", [()] * len(texts))
    scores = columns.get("scores", [max(row, default=0.0) for row in rows])
    for label, score, row in zip(columns["label"], scores, rows, strict=True):
        score = float(score) if label else 0.0
        if not label:
            found = {}
        elif len(labels) == len(row) > 0:
            order = sorted(range(len(row)), key=lambda place, row=row: -row[place])
            found = {labels[place]: float(row[place]) for place in order}
        else:
            found = {label: score}
        yield _later(Label, label, score, found)


def _vectors(texts, columns, labels):
    for row in columns["vector"]:
        yield _later(Vector, tuple(map(float, row)) if any(row) else ())


def _tags(texts, columns, labels):
    names = "tags", "scores", "starts", "ends", "word_counts"
    for text, tags, scores, starts, ends, count in zip(texts, *(columns[name] for name in names), strict=True):
        places = zip(tags[:count], scores[:count], starts[:count], ends[:count], strict=True)
        words = [Word(text[start:end], tag, start, end, float(score)) for tag, score, start, end in places]
        if len(words) != count:
            raise ValueError(f"{count} words have {len(words)} tags")
        yield _later(Tags, tuple(words))


def _later(kind, *arguments):
    return lambda **remarks: kind(*arguments, **remarks)
