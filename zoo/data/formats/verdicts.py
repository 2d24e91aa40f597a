"""What annotators said of an example in the files of their tools: one that was rejected or passed over is no example.

Prodigy writes `answer` (accept, reject, ignore), Argilla `status` (submitted or validated, discarded, draft), Label
Studio `was_cancelled`, others a flag. A column counts as one of these where the first records say so in these words,
and where it was not taken for the text or the label.
"""

_SAID = {  # column -> (what is said of examples, what of others)
    "answer": ({"accept", "accepted"}, {"reject", "rejected", "ignore", "ignored", "skip"}),
    "status": (
        {"submitted", "validated", "completed"},
        {"discarded", "draft", "pending", "default", "rejected", "skipped"},
    ),
    "was_cancelled": ({"false", "0"}, {"true", "1"}),
    "discarded": ({"false", "0"}, {"true", "1"}),
    "rejected": ({"false", "0"}, {"true", "1"}),
    "skipped": ({"false", "0"}, {"true", "1"}),
}


def verdict_column(records: list[dict], taken) -> str | None:
    """The column of a table that says what an annotator decided, by its first records; none that is `taken`."""
    for name, (kept, left_out) in _SAID.items():
        said = {_word(record[name]) for record in records if name in record}
        if name not in taken and said and said <= kept | left_out:
            return name
    return None


def is_left_out(record: dict, column: str | None) -> bool:
    """Whether the annotator rejected this example, or passed it over."""
    return column is not None and _word(record.get(column)) in _SAID[column][1]


def note(record: dict, column: str) -> str:
    """What is counted of an example that is left out."""
    return f"examples with {column} = {_word(record[column])}, left out"


def _word(value):
    return str(value).strip().lower()
