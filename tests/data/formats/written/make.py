"""Writes the files of this folder with other people's tools, and says what they hold.

`python -m tests.data.formats.written.make` in an environment with pandas 3.1, datasets 5.2 and spaCy 3.8 wrote them.
The tests import only what they hold.
"""

import gzip
import os
from pathlib import Path

HERE = Path(__file__).parent
REVIEWS = [
    ("A good, solid film; twice!", "positive"),
    ('They call it "art".', "negative"),
    ("First line\nsecond line", "negative"),
    ("Überraschend gut – 5€ wert", "positive"),
    ("'t was fine", "positive"),
]
TRANSLATIONS = [
    ("Guten Morgen, Herr Müller.", "Good morning, Mr Müller."),
    ('Er sagte: "Nein"; dann ging er.', 'He said "no"; then he left.'),
    ("Zwei Hunde", "Two dogs"),
    ("Straße", "Street"),
]
ENTAILMENTS = [
    ("A man, old, sleeps", "He is asleep", "entailment"),
    ("Two dogs play", "Two cats play", "contradiction"),
    ('A "quoted" one', "Something; else", "neutral"),
    ("It rains", "It is wet", "entailment"),
]
STARS = [("A good, solid film", "4.5"), ('They call it "art".', "1"), ("Two hours; too long", "2.25"), ("Fine", "3")]
ALIKE = [
    ("Two dogs play", "Dogs, two, play", "4.75"),
    ('A "quoted" one', "Something; else", "0"),
    ("It rains", "It is wet", "3.5"),
]
SENTENCES = [
    (["EU", "rejects", "German", "call", "."], ["B-ORG", "O", "B-MISC", "O", "O"]),
    (["Ann", "lives", "in", "New", "York"], ["B-PER", "O", "O", "B-LOC", "I-LOC"]),
    (["#", '"', ",", ";"], ["O", "O", "O", "O"]),
]
DOCUMENTS = ["It was a dark night;\nand the rain fell.", 'She said "hello", twice.', "Ende – überall."]
ENTITIES = [  # for spaCy, which makes the words
    ("Maria Sanchez lives in New York.\nShe works there.", [(0, 13, "PERSON"), (23, 31, "GPE")]),
    ("Nobody lives on Mars!", [(16, 20, "LOC")]),
    ("Nothing here", []),
]
ENTITY_WORDS = [
    ("Maria Sanchez lives in New York . She works there .", "B-PERSON I-PERSON O O B-GPE I-GPE O O O O O"),
    ("Nobody lives on Mars !", "O O O B-LOC O"),
    ("Nothing here", "O O"),
]
EXCEL = {"sep": ";", "encoding": "utf-8-sig", "lineterminator": "\r\n", "index": False}  # as a German Excel saves CSV


def labelled(pandas, datasets):
    frame = pandas.DataFrame(REVIEWS, columns=["text", "label"])
    frame.to_csv("labelled-index.csv")
    frame.rename(columns={"text": "review", "label": "sentiment"}).to_csv("labelled-excel.csv", **EXCEL)
    frame.to_csv("labelled.tsv", sep="\t", index=False)
    frame.to_csv("labelled-plain.csv.xz", header=False, index=False)
    frame.to_json("labelled.jsonl", orient="records", lines=True)
    datasets.Dataset.from_pandas(frame[["label", "text"]]).to_json("labelled-datasets.json", force_ascii=False)


def pairs(pandas, datasets):
    frame = pandas.DataFrame(TRANSLATIONS, columns=["de", "en"])
    frame.to_csv("pairs.csv", index=False)
    frame.rename(columns={"de": "src", "en": "tgt"}).to_csv("pairs-excel.csv", **EXCEL)
    frame.to_csv("pairs-plain.tsv", sep="\t", header=False, index=False)
    frame.to_json("pairs.jsonl.gz", orient="records", lines=True, force_ascii=False)
    for language in frame:
        frame[language].to_csv(f"pairs.{language}", sep="\t", header=False, index=False, quoting=3)
    records = [{"translation": {"de": source, "en": target}} for source, target in TRANSLATIONS]
    datasets.Dataset.from_list(records).to_json("pairs-datasets.jsonl")


def compared(pandas, datasets):
    frame = pandas.DataFrame(ENTAILMENTS, columns=["premise", "hypothesis", "label"])
    frame.to_csv("compared.csv", index=False, quoting=1)
    frame.to_csv("compared-plain.tsv.gz", sep="\t", header=False, index=False)
    frame.to_json("compared.jsonl", orient="records", lines=True)
    twins = frame.rename(columns={"premise": "sentence1", "hypothesis": "sentence2"})
    twins.to_csv("compared-excel.csv", **EXCEL)
    twins.assign(id=range(100, 100 + len(frame)))[["id", "label", "sentence1", "sentence2"]].to_csv(
        "compared-index.csv"
    )
    datasets.Dataset.from_pandas(twins).to_csv("compared-datasets.csv")


def rated(pandas, datasets):
    frame = pandas.DataFrame(STARS, columns=["text", "score"])
    frame.to_csv("rated-index.csv")
    frame.rename(columns={"text": "review", "score": "stars"}).to_csv("rated-excel.csv", **EXCEL)
    frame.to_csv("rated.tsv", sep="\t", index=False)
    frame.to_csv("rated-plain.csv.xz", header=False, index=False)
    frame.to_json("rated.jsonl", orient="records", lines=True)
    datasets.Dataset.from_pandas(frame[["score", "text"]]).to_json("rated-datasets.json", force_ascii=False)


def scored(pandas, datasets):
    frame = pandas.DataFrame(ALIKE, columns=["sentence1", "sentence2", "score"])
    frame.to_csv("scored.csv", index=False, quoting=1)
    frame.to_csv("scored-plain.tsv.gz", sep="\t", header=False, index=False)
    frame.to_json("scored.jsonl", orient="records", lines=True)
    frame.rename(columns={"score": "similarity"}).to_csv("scored-excel.csv", **EXCEL)
    frame.assign(id=range(100, 100 + len(frame)))[["id", "score", "sentence1", "sentence2"]].to_csv("scored-index.csv")
    datasets.Dataset.from_pandas(frame).to_csv("scored-datasets.csv")


def tagged(pandas, datasets):
    words, tags = zip(*SENTENCES, strict=True)
    frame = pandas.DataFrame({"tokens": words, "ner_tags": tags})
    frame.to_csv("tagged-lists.csv", index=False)
    frame.map(" ".join).to_csv("tagged-words.tsv", sep="\t", header=False, index=False, quoting=3)
    rows = [(number, *pair) for number, (one, two) in enumerate(SENTENCES, 1) for pair in zip(one, two, strict=True)]
    pandas.DataFrame(rows, columns=["sentence_id", "word", "tag"]).to_csv("tagged-rows.csv", index=False)
    with open("tagged.conll", "w", encoding="utf-8") as out:
        for one, two in SENTENCES:
            pandas.DataFrame({"word": one, "tag": two}).to_csv(out, sep="\t", header=False, index=False, quoting=3)
            out.write("\n")
    datasets.Dataset.from_dict({"id": ["0", "1", "2"], "tokens": words, "ner_tags": tags}).to_json("tagged.jsonl")


def running(pandas, datasets):
    frame = pandas.DataFrame({"text": DOCUMENTS})
    frame.to_csv("running-index.csv")
    frame.to_csv("running-excel.csv", **EXCEL)
    frame.to_csv("running.tsv", sep="\t", index=False)
    frame.to_json("running.jsonl", orient="records", lines=True)
    datasets.Dataset.from_pandas(frame).to_json("running-datasets.jsonl.gz", compression="gzip")
    Path("running.txt.gz").write_bytes(gzip.compress("\n".join(DOCUMENTS).encode(), mtime=0))


def spans(spacy, srsly):
    nlp = spacy.blank("en")
    docs = []
    for text, entities in ENTITIES:
        doc = nlp(text)
        doc.ents = [doc.char_span(start, end, label=label) for start, end, label in entities]
        docs.append(doc)
        words = [word for word in doc if not word.is_space]
        tags = [f"{word.ent_iob_}-{word.ent_type_}" if word.ent_type_ else "O" for word in words]
        assert (" ".join(word.text for word in words), " ".join(tags)) in ENTITY_WORDS
    srsly.write_jsonl("tagged-spacy.jsonl", [doc.to_json() for doc in docs])


def main():
    import datasets
    import pandas
    import spacy
    import srsly

    os.chdir(HERE)
    for write in (labelled, pairs, compared, rated, scored, tagged, running):
        write(pandas, datasets)
    spans(spacy, srsly)


if __name__ == "__main__":
    main()
