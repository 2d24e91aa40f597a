# %% [markdown]
# # A language model
# It learns a running text, character by character, and continues prompts. The text is a counting rhyme.

# %%
from pathlib import Path

THINGS = ["green bottles", "little ducks", "grey geese", "old bears"]
lines = [
    f"{count} {things} in the sun, one goes away, and {count - 1} are the {things} that stay.\n"
    for things in THINGS
    for count in range(30, 0, -1)
]
Path("rhyme.txt").write_text("".join(lines), encoding="utf-8")

# %% [markdown]
# Validation and test are the end of the text. `context` is the number of characters that training sees at once.

# %%
recipe = {
    "name": "rhyme",
    "task": "continue",
    "data": {"corpus": "files", "train": "rhyme.txt", "test_share": 0.1},
    "text": {"pieces": "char"},
    "model": {"kind": "transformer", "units": 32, "num_heads": 2, "hidden_units": 64, "context": 32},
    "training": {"steps": 300, "validate_every": 150, "batch_size": 16, "learning_rate": 0.01},
    "search": {"max_output_length": 24},
}

# %%
import zoo

run = zoo.train(recipe, out="runs/rhyme")

# %%
scores = zoo.evaluate(run)
print(f"{scores['nats_per_character']:.3f} nats per character, {scores['nats_per_character_interval']}")

# %% [markdown]
# An artefact continues a prompt by search, or draws characters at random; `score` says how probable a text is.

# %%
from serving import Runtime
from serving.export import export_run
from serving.runtime import Sampling

runtime = Runtime(export_run(run, int8=False))
answers = runtime.run(["7 grey "], length=20, sampling=Sampling(temperature=0.7, seed=1))
print(answers[0].text)
print(runtime.score(["4 old bears in the sun"]))
