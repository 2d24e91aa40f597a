"""How the answers to texts are shown: as a line, or as a JSON object."""

import dataclasses
import json

from .screen import escape

PAGE = "\t\r\n"  # what an answer of several lines keeps


def line(kind, number, text, result, n_best):
    """The answer to text `number` as a line, or with `n_best` as several lines."""
    if n_best is None:
        return kind.line(result, escape)
    return "\n".join(kind.lines(number, result, escape_breaks))


def escape_breaks(text, keep="\t"):
    """A text without line breaks and control characters, but for those to keep; a tab divides two columns."""
    return escape(text, keep)


def record(kind, number, text, result, n_best):
    """The answer to a text as a JSON object, in one line to every reader of lines."""
    fields = dataclasses.asdict(result)
    remarks = {name: remark for name in ("error", "warning") if (remark := fields.pop(name))}
    fields = kind.record(fields, n_best) | ({} if result.confidence is None else {"confidence": result.confidence})
    return escape(json.dumps({"input": text} | fields | remarks, ensure_ascii=False))
