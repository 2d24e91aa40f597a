"""One tag for each word of a text."""

from dataclasses import dataclass

from serving.kinds.base import Column, Kind, Output, Remarks
from serving.lazy import later

entities_of = later("zoo.scores.labels")
tags_of = later("zoo.scores.transitions")

RULES = "spaces", "punctuation", "treebank"  # by which a text is cut into words, see `zoo.text.words`


@dataclass(frozen=True)
class Word:
    """A word, its tag, the probability of the tag, and its place in the text: `text[start:end]`, in characters."""

    text: str
    tag: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Entity:
    """What several tags spell together: its type, its place in the text, in characters, and `text[start:end]`."""

    type: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Tags(Remarks):
    """The tagged words of a text, and the entities that tags of IOB2 or IOBES spell; other tags spell none."""

    words: tuple[Word, ...]
    entities: tuple[Entity, ...] = ()

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
        Output("entity_types", "string", 2),
        Output("entity_starts", "int32", 2),
        Output("entity_ends", "int32", 2),
        Output("entity_counts", "int32"),
    )
    options = remote_options = ("words",)
    needs = ("labels",)
    by_words = True
    has_confidence = True

    def prepare(self, manifest):
        """The labels, which tag may follow which, and whether tags spell entities."""
        labels = manifest["labels"]
        rules, _ = entities_of.choose_rules([labels], [labels])
        return labels, tags_of.transitions(labels), rules not in (None, entities_of.RUNS)

    def shapes(self, manifest):
        return {"probabilities": (None, len(manifest["labels"]))}

    def make_result(self, outputs, prepared, reading):
        labels, allowed, has_entities = prepared
        ids, probabilities = tags_of.likeliest_tags(outputs["probabilities"][list(reading.first)], allowed)
        words = tuple(
            Word(reading.text[start:end], labels[best], start, end, probability)
            for (start, end), best, probability in zip(
                reading.places, ids.tolist(), probabilities.tolist(), strict=True
            )
        )
        spelled = entities_of.find_entities([word.tag for word in words]) if has_entities else ()
        places = [(kind, words[first].start, words[last].end) for kind, first, last in spelled]
        return Tags(words, tuple(Entity(*place, reading.text[slice(*place[1:])]) for place in places))

    def blank(self):
        return Tags(())

    def line(self, result, escape):
        return " ".join(f"{word.text}/{word.tag}" for word in result.words)

    def columns(self, n_best):
        return {
            "answer": ([str], lambda result: [word.tag for word in result.words]),
            "score": ([float], lambda result: [word.score for word in result.words]),
            "words": ([str], lambda result: [word.text for word in result.words]),
            "entities": ([str], lambda result: [entity.text for entity in result.entities]),
            "entity_types": ([str], lambda result: [entity.type for entity in result.entities]),
        }

    def agreement(self, ones, others):
        """The share of tags that are the same."""
        pairs = [words for both in zip(ones, others, strict=True) for words in zip(*both, strict=True)]
        return sum(one == other for one, other in pairs) / max(1, len(pairs))

    def write(self, results, manifest, width):
        """`(batch, words)` of the longest text; places beyond the words, or entities, of a text are blank."""
        words, entities = [each.words for each in results], [each.entities for each in results]
        return {
            "tags": _column(words, "tag", ""),
            "scores": _column(words, "score", 0),
            "starts": _column(words, "start", 0),
            "ends": _column(words, "end", 0),
            "word_counts": Column((len(words),), list(map(len, words))),
            "entity_types": _column(entities, "type", ""),
            "entity_starts": _column(entities, "start", 0),
            "entity_ends": _column(entities, "end", 0),
            "entity_counts": Column((len(entities),), list(map(len, entities))),
        }

    def read(self, texts, columns, labels):
        words = _rows(columns, "word_counts", "tags", "scores", "starts", "ends")
        entities = [()] * len(texts)  # of a server that gives none
        if "entity_counts" in columns:
            entities = _rows(columns, "entity_counts", "entity_types", "entity_starts", "entity_ends")
        for text, tagged, spelled in zip(texts, words, entities, strict=True):
            yield Tags(
                tuple(Word(text[start:end], tag, start, end, float(score)) for tag, score, start, end in tagged),
                tuple(Entity(kind, start, end, text[start:end]) for kind, start, end in spelled),
            )


def _column(rows, part, nothing):
    """One part of each word, or entity, of each text, filled up to the most of them."""
    most = max(map(len, rows), default=0)
    filled = [[getattr(each, part) for each in row] + [nothing] * (most - len(row)) for row in rows]
    return Column((len(rows), most), filled)


def _rows(columns, counts, *names):
    """For each text the parts of its words, or entities, together."""
    for count, *parts in zip(*(columns[name] for name in (counts, *names)), strict=True):
        tags = list(zip(*(part[:count] for part in parts), strict=True))
        if len(tags) != count:
            raise ValueError(f"{counts} says {count}, and there are {len(tags)}")
        yield tags
