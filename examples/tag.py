# %% [markdown]
# # One label for every word
# Names in sentences, from a CoNLL file with IOB2 tags: one word a line, a blank line after each sentence.

# %%
from itertools import product
from pathlib import Path

PEOPLE = ["Ada Byron", "Ida Rhodes", "Emmy Noether", "Mary Somerville", "Sonya Kovalevskaya"]
PLACES = ["Paris", "New York", "Lake Constance", "Turin", "Saint Petersburg"]
FRAMES = ["{0} lives in {1} .", "In {1} we met {0} .", "{0} wrote to us from {1} yesterday ."]


def tagged(words, kind):
    return [(word, f"{'I' if place else 'B'}-{kind}") for place, word in enumerate(words.split())]


sentences = []
for frame, person, place in product(FRAMES, PEOPLE, PLACES):
    parts = {"{0}": tagged(person, "PER"), "{1}": tagged(place, "LOC")}
    sentences.append([pair for word in frame.split() for pair in parts.get(word, [(word, "O")])])
text = "\n".join("".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in sentences)
Path("names.conll").write_text(text, encoding="utf-8")

# %% [markdown]
# The `spelled` embedding knows a word by its ends and its shape, too, which helps with names that the training has not.

# %%
recipe = {
    "name": "names",
    "task": "tag",
    "data": {"corpus": "files", "train": "names.conll", "test_share": 0.2},
    "text": {"vocab_size": 120},
    "model": {"kind": "recurrent", "units": 16},
    "embedding": "spelled",
    "training": {"steps": 60, "validate_every": 20, "batch_size": 16, "num_buckets": 1, "learning_rate": 0.01},
}

# %%
import zoo

run = zoo.train(recipe, out="runs/names")
print(run.labels)

# %%
scores = zoo.evaluate(run)
print(f"entity F1 {scores['entity_f1']:.1f}, {scores['entity_f1_interval']}; accuracy {scores['accuracy']:.1f} %")

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
answers = Runtime(artefact).run(["Emmy Noether lives in Turin .", "In Saint Petersburg we met Ada Byron ."])
for answer in answers:
    print([(word.text, word.tag) for word in answer.words])
