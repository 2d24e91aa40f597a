# %% [markdown]
# # One label for a text
# Which kind of answer a question asks for, learnt from a CSV file. The cells run as they stand, one after the other.

# %%
from pathlib import Path

ASKED = {"person": "Who {}?", "place": "Where {}?", "number": "How many {}?"}
THINGS = ["won the race", "came to the party", "slept in the barn", "went by train", "sat on the wall", "saw the comet"]
rows = [
    f'"{question.format(thing)} {extra}",{label}\n'
    for label, question in ASKED.items()
    for thing in THINGS
    for extra in ("Please tell me.", "I forgot, sorry.", "Do you know?", "")
]
Path("questions.csv").write_text("question,asks_for\n" + "".join(rows), encoding="utf-8")

# %% [markdown]
# A recipe is tables of settings; in a file it would be TOML, which `seqzoo new classify questions.csv --out mine.toml`
# writes after looking at the data. The labels stand in a column with a name of its own, so the recipe says which.

# %%
recipe = {
    "name": "questions",
    "task": "classify",
    "data": {
        "corpus": "files",
        "train": "questions.csv",
        "columns": {"text": "question", "label": "asks_for"},
        "test_share": 0.2,
    },
    "text": {"vocab_size": 80},
    "model": {"kind": "transformer", "units": 16, "num_heads": 2, "hidden_units": 32},
    "training": {"steps": 60, "validate_every": 20, "batch_size": 16, "num_buckets": 1, "learning_rate": 0.01},
}

# %%
import zoo

run = zoo.train(recipe, out="runs/questions")
print(run.labels)

# %%
scores = zoo.evaluate(run)
print(f"accuracy {scores['accuracy']:.1f} % of {scores['count']} questions, between {scores['accuracy_interval']}")

# %% [markdown]
# An artefact runs on ONNX Runtime, without Keras and TensorFlow. Export compares all its forms with the model.

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
answers = Runtime(artefact).run(["Who saw the comet?", "Where is my umbrella?"])
for answer in answers:
    print(answer.label, answer.probabilities)
