"""How the answers to texts are shown: as a line, or as a JSON object."""

import dataclasses
import json

from serving.corpus.columns import LABELS

from .screen import shown


def line(kind, number, text, result, n_best):
    """The answer to text `number` as a line, or with `n_best` as several lines."""
    if kind in LABELS:
        return f"{shown(result.label)}\t{result.probability:.4f}" if result.label else ""
    if kind == "tag":
        return " ".join(f"{word.text}/{word.tag}" for word in result.words)
    if kind == "embed":
        return json.dumps(numbers(result.vector)) if result.vector else ""
    if n_best is None:
        return result.text
    return "\n".join(f"{number}\t{each.score:.4f}\t{one_line(each.text)}" for each in result.hypotheses)


def numbers(vector):
    """The numbers of a vector, in as many digits as float32 has."""
    return [float(f"{value:.9g}") for value in vector]


def one_line(text):
    """A text without line breaks and control characters; a tab stays, which divides two columns."""
    return shown(text, "\t")


def record(kind, number, text, result, n_best):
    """The answer to a text as a JSON object, in one line to every reader of lines."""
    found = dataclasses.asdict(result)
    remarks = {name: said for name in ("error", "warning") if (said := found.pop(name))}
    if "vector" in found:
        found["vector"] = numbers(found["vector"])
    if "hypotheses" in found:
        hypotheses = found.pop("hypotheses")
        found = {"output": found["text"], "score": found["score"]} | ({"n_best": hypotheses} if n_best else {})
    return shown(json.dumps({"input": text} | found | remarks, ensure_ascii=False))
