# %% [markdown]
# # A number for two texts
# How many of their words two texts share, from 0 to 5: a stand-in for people's judgements of how alike sentences are. A
# file of your own has a column for each text, and one with the number.

# %%
import random

random.seed(1)
words = "red blue green white black grey pink brown".split()
pairs = []
for _ in range(400):
    shared = random.randint(0, 3)
    first, second = random.sample(words, 3), random.sample(words, 3)
    second[:shared] = first[:shared]
    pairs.append(((" ".join(first), " ".join(second)), str(len(set(first) & set(second)))))
print(pairs[:3])

# %% [markdown]
# The loss says what the mean and the deviation of the numbers are; `seqzoo new rate_pairs FILE` would count them.

# %%
import zoo

recipe = {
    "name": "alike",
    "task": "rate_pairs",
    "data": {"corpus": "files"},
    "text": {"vocab_size": 40},
    "loss": {"mean": 1.8, "deviation": 0.9},
    "model": {"kind": "transformer", "units": 32, "num_layers": 1, "num_heads": 2, "hidden_units": 64},
    "training": {"steps": 200, "warmup": 20, "validate_every": 100, "batch_size": 32},
}
run = zoo.train(recipe, data={"train": pairs[:300], "valid": pairs[300:350]}, out="runs/alike")

# %%
scores = zoo.evaluate(run, data=pairs[350:])
print(f"{scores['mae']:.2f} off, correlation {scores['spearman']} %, {scores['spearman_interval']}")

# %% [markdown]
# A pair is a tuple, or a line with a TAB between its texts.

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
answers = Runtime(artefact).run([("red blue green", "green red blue"), "red blue green\twhite pink grey"])
for answer in answers:
    print(answer.rating)
