"""One tag for each word of a text."""

from dataclasses import dataclass

from serving.kinds.base import Column, Kind, Output, Remarks
from serving.lazy import later

tags_of = later("zoo.scores.transitions")


@dataclass(frozen=True)
class Word:
    """A word, its tag, the probability of the tag, and its place in the text: `text[start:end]`, in characters."""

    text: str
    tag: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Tags(Remarks):
    """The tagged words of a text."""

    words: tuple[Word, ...]

    @property
    def answer(self) -> list[str]:
        return [word.tag for word in self.words]

    @property
    def confidence(self) -> float | None:
        """That of the least likely tag."""
        return min((word.score for word in self.words), default=None)


class Tag(Kind):
    """A tag for each word. Words are encoded separately, and the tag is that of a word's first piece.

    Where the tags spell entities, the likeliest sequence of those that may follow each other is the answer.
    """

    name = "tag"
    mark = "tags"
    outputs = (
        Output("tags", "string", 2),
        Output("scores", "float32", 2),
        Output("starts", "int32", 2),
        Output("ends", "int32", 2),
        Output("word_counts", "int32"),
    )
    needs = ("labels",)
    by_words = True
    has_confidence = True

    def known(self, manifest):
        """The labels, and which tag may follow which."""
        return manifest["labels"], tags_of.transitions(manifest["labels"])

    def shapes(self, manifest):
        return {"probabilities": (None, len(manifest["labels"]))}

    def made(self, outputs, known, reading):
        labels, allowed = known
        found = tags_of.likeliest_tags(outputs["probabilities"][list(reading.first)], allowed)
        return Tags(
            tuple(
                Word(reading.text[start:end], labels[best], start, end, float(probability))
                for (start, end), best, probability in zip(reading.places, *found, strict=True)
            )
        )

    def blank(self):
        return Tags(())

    def line(self, result, escape):
        return " ".join(f"{word.text}/{word.tag}" for word in result.words)

    def columns(self, n_best):
        return {
            "answer": ([str], lambda result: [word.tag for word in result.words]),
            "score": ([float], lambda result: [word.score for word in result.words]),
            "words": ([str], lambda result: [word.text for word in result.words]),
        }

    def agreement(self, ones, others):
        """The share of tags that are the same."""
        pairs = [words for both in zip(ones, others, strict=True) for words in zip(*both, strict=True)]
        return sum(one == other for one, other in pairs) / max(1, len(pairs))

    def write(self, results, manifest, width):
        """`(batch, words)` of the longest text; places beyond the words of a text are blank."""
        shape = len(results), max((len(result.words) for result in results), default=0)
        parts = {"tags": ("tag", ""), "scores": ("score", 0), "starts": ("start", 0), "ends": ("end", 0)}
        found = {
            name: Column(shape, [_column(each.words, part, shape[1], nothing) for each in results])
            for name, (part, nothing) in parts.items()
        }
        return found | {"word_counts": Column(shape[:1], [len(result.words) for result in results])}

    def read(self, texts, columns, labels):
        names = "tags", "scores", "starts", "ends", "word_counts"
        for text, tags, scores, starts, ends, count in zip(texts, *(columns[name] for name in names), strict=True):
            places = zip(tags[:count], scores[:count], starts[:count], ends[:count], strict=True)
            words = [Word(text[start:end], tag, start, end, float(score)) for tag, score, start, end in places]
            if len(words) != count:
                raise ValueError(f"{count} words have {len(words)} tags")
            yield Tags(tuple(words))


def _column(words, part, count, nothing):
    """One part of each word, filled up to `count` of them."""
    return [getattr(word, part) for word in words] + [nothing] * (count - len(words))


KIND = Tag()
