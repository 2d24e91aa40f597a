# %% [markdown]
# # Translation
# German to English, from two files whose lines belong together. Twelve phrases in three frames make the corpus.

# %%
from itertools import product
from pathlib import Path

WHO = {"der Hund": "the dog", "die Katze": "the cat", "ein Kind": "a child", "mein Freund": "my friend"}
DOES = {"schläft": "sleeps", "spielt": "plays", "wartet": "waits", "singt": "sings", "läuft": "runs"}
WHERE = {"im Garten": "in the garden", "am See": "at the lake", "vor dem Haus": "in front of the house"}
FRAMES = {
    "{0} {1} {2} .": "{0} {1} {2} .",
    "{2} {1} {0} .": "{0} {1} {2} .",
    "{1} {0} {2} ?": "is it that {0} {1} {2} ?",
}

german, english = [], []
for (frame, other), *pairs in product(FRAMES.items(), WHO.items(), DOES.items(), WHERE.items()):
    german.append(frame.format(*(one for one, _ in pairs)))
    english.append(other.format(*(one for _, one in pairs)))
Path("small.de").write_text("\n".join(german) + "\n", encoding="utf-8")
Path("small.en").write_text("\n".join(english) + "\n", encoding="utf-8")

# %% [markdown]
# The languages are told by the endings of the files where `seqzoo new` writes the recipe; here they are named, so that
# BLEU knows how to cut words.

# %%
recipe = {
    "name": "small-de-en",
    "task": "translate",
    "data": {
        "corpus": "files",
        "train": ["small.de", "small.en"],
        "test_share": 0.15,
        "source_language": "de",
        "target_language": "en",
    },
    "text": {"pieces": "word", "vocab_size": 40, "target": {"pieces": "word", "vocab_size": 40}},
    "model": {"kind": "recurrent", "cell": "lstm", "units": 48},
    "attention": "additive",
    "training": {"steps": 120, "validate_every": 40, "batch_size": 16, "num_buckets": 1, "learning_rate": 0.01},
    "search": {"beam": 2, "max_output_length": 14},
}

# %%
import zoo

run = zoo.train(recipe, out="runs/small-de-en")

# %%
scores = zoo.evaluate(run)
print(f"BLEU {scores['bleu']:.1f} {scores['bleu_interval']}, {scores['bleu_signature']}")

# %% [markdown]
# The run translates as it is; an artefact does so without Keras and TensorFlow, and its answers are the same.

# %%
from zoo.runs import translate

print(translate(run, ["im Garten schläft der Hund ."]))

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
answers = Runtime(artefact).run(["im Garten schläft der Hund .", "singt mein Freund am See ?"], n_best=2)
for answer in answers:
    print(answer.text, [hypothesis.score for hypothesis in answer.hypotheses])
