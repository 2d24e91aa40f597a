"""A model that costs nothing: the answer to a text is the text backwards; a text with "?" is refused."""

from dataclasses import dataclass

from serving.corpus.forms import TextForm


@dataclass(frozen=True)
class Backwards:
    text: str
    error: str | None = None


def ask(block):
    return [
        Backwards("", block.errors.get(place, "a question")) if place in block.errors or "?" in text else
        Backwards(text[::-1])
        for place, text in enumerate(block.texts)
    ]  # fmt: skip


def show(number, text, result):
    return f"{number}\t{result.text}"


def form(out):
    return TextForm(out, show, "numbered")


COLUMNS = {"answer": (str, lambda result: result.text), "error": (str, lambda result: result.error)}


def expected(text, first=1):
    """What the answers to the lines of a text are, by another way."""
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    answers = ["" if "?" in line else "".join(reversed(line)) for line in lines]
    return "".join(f"{number}\t{answer}\n" for number, answer in enumerate(answers, first))
