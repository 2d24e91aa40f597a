"""Files that pandas, Hugging Face datasets and spaCy wrote are read without a word about their form.

`written/make.py` wrote them and says what they hold; nothing here names a column, a delimiter or a format.
"""

import pytest

from tests.data.formats.written.make import (
    ALIKE,
    DOCUMENTS,
    ENTAILMENTS,
    ENTITIES,
    ENTITY_WORDS,
    HERE,
    REVIEWS,
    SENTENCES,
    STARS,
    TRANSLATIONS,
)
from zoo.data.formats import detect, read

NAMES = {
    "labelled": ["-index.csv", "-excel.csv", ".tsv", "-plain.csv.xz", ".jsonl", "-datasets.json"],
    "pairs": [".csv", "-excel.csv", "-plain.tsv", ".jsonl.gz", "-datasets.jsonl", (".de", ".en")],
    "compared": [".csv", "-plain.tsv.gz", ".jsonl", "-excel.csv", "-index.csv", "-datasets.csv"],
    "rated": ["-index.csv", "-excel.csv", ".tsv", "-plain.csv.xz", ".jsonl", "-datasets.json"],
    "scored": [".csv", "-plain.tsv.gz", ".jsonl", "-excel.csv", "-index.csv", "-datasets.csv"],
    "tagged": ["-lists.csv", "-words.tsv", "-rows.csv", ".conll", ".jsonl", "-spacy.jsonl"],
    "running": ["-index.csv", "-excel.csv", ".tsv", ".jsonl", "-datasets.jsonl.gz", ".txt.gz"],
}
HELD = {
    "labelled": REVIEWS,
    "pairs": TRANSLATIONS,
    "compared": [((first, second), label) for first, second, label in ENTAILMENTS],
    "rated": STARS,
    "scored": [((first, second), score) for first, second, score in ALIKE],
    "tagged": [(" ".join(words), " ".join(tags)) for words, tags in SENTENCES],
    "running": [("\n".join(DOCUMENTS) + "\n", "")],
}
CASES = [(kind, names if isinstance(names, tuple) else (names,)) for kind, each in NAMES.items() for names in each]


@pytest.mark.parametrize(("kind", "names"), CASES, ids=lambda case: "".join(case))
def test_is_read_as_it_was_meant(kind, names):
    files = [HERE / f"{kind}{name}" for name in names]
    expected = ENTITY_WORDS if "spacy" in names[0] else HELD[kind]
    found = read(files, kind)
    assert list(zip(found.inputs, found.answers, strict=True)) == expected
    told = detect(files, kind)
    again = read(files, kind, format=told.format, columns=told.columns)
    assert again == found, "what is detected, written into a recipe, reads the same"
    if kind != "running":
        assert told.samples.inputs == found.inputs[:3]


def test_every_file_is_read_by_a_test():
    named = {f"{kind}{name}" for kind, names in CASES for name in names}
    assert named == {path.name for path in HERE.iterdir() if not path.suffix.startswith(".py") and path.is_file()}


def test_what_spacy_was_given_is_what_its_file_says():
    """The entities of the sentences, as spaCy was asked to mark them, begin and end where the tags do."""
    for (text, entities), (words, tags) in zip(ENTITIES, ENTITY_WORDS, strict=True):
        begins = [word for word, tag in zip(words.split(), tags.split(), strict=True) if tag.startswith("B-")]
        assert begins == [text[start:end].split()[0] for start, end, _ in entities]
