"""What annotators said of an example in the files of their tools: one that was rejected or passed over is no example.

Prodigy writes `answer` (accept, reject, ignore; only what is accepted is one), Label Studio `was_cancelled`, Argilla
`status`, of which "discarded" is such a verdict. A column counts as one of these where the first records say so in
these words or nothing, and where it was not taken for the text or the label.
"""

from zoo.data.formats.base import Problems, Request

_FLAG = ({"false", "0"}, {"true", "1"})
_SAID = {  # column -> (what is said of examples, what of others)
    "answer": ({"accept", "accepted"}, {"reject", "rejected", "ignore", "ignored", "skip"}),
    "status": ({"submitted", "validated", "completed", "draft", "pending", "default"}, {"discarded"}),
    "was_cancelled": _FLAG,
}


def verdict_column(records: list[dict], taken, request: Request) -> str | None:
    """The column of a table that says what an annotator decided, by its first records; none that is `taken`."""
    if "verdicts" in request.rules_off:
        return None
    for name, (kept, left_out) in _SAID.items():
        words = {_word(record[name]) for record in records if name in record} - {"", "none"}
        if name not in taken and words and words <= kept | left_out:
            return name
    return None


def record_of(value):
    """A task of Label Studio as one record: its data, and the answer of the first annotator who gave one.

    Its choice or rating is the `label`, and labelled parts of the text are `spans`; other values are as they were.
    """
    if not (
        isinstance(value, dict) and isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list)
    ):
        return value
    annotations = [each for each in value["annotations"] if isinstance(each, dict)]
    valid = [each for each in annotations if not each.get("was_cancelled")]
    results = valid[0].get("result") if valid else None
    values = [each["value"] for each in results or [] if isinstance(each, dict) and isinstance(each.get("value"), dict)]
    labels = [label for each in values for label in each.get("choices", [each["rating"]] if "rating" in each else [])]
    record = value["data"] | {"was_cancelled": bool(annotations) and not valid}
    return record | ({"label": labels} if labels else {"spans": [each for each in values if "labels" in each]})


def is_left_out(record: dict, column: str | None, problems: Problems, path: str, line: int) -> bool:
    """Whether the annotator rejected this example, or passed it over, which is counted."""
    if column is None:
        return False
    kept, left_out = _SAID[column]
    word = _word(record.get(column))
    if not (word in left_out or column == "answer" and word not in kept):
        return False
    problems.leave_out(f"examples with {column} = {word[:20]}, left out", path, line)
    return True


def _word(value):
    return str(value).strip().lower()
