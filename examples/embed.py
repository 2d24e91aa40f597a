# %% [markdown]
# # A vector for a text
# Texts that mean the same have vectors that point the same way, so the nearest vector answers a search by meaning. The
# network comes from elsewhere: the sentence encoder all-MiniLM-L6-v2, as a folder of that name or, with a network at
# hand, as hf://sentence-transformers/all-MiniLM-L6-v2. An import is a run, as if it had been trained here.

# %%
import zoo
from zoo.pretrained import import_network

import_network("all-MiniLM-L6-v2", "runs/minilm")
run = zoo.open("runs/minilm")
print(f"{run.model.count_params():,} weights; vectors of {run.model.units} numbers")

# %% [markdown]
# Pairs of texts with a number each, such as people's judgements of how alike they are, tell how good the vectors are.

# %%
from pathlib import Path

judged = [
    ("the cat sat", "a cat sat", 4.5),
    ("the cat sat", "where is the house", 0.5),
    ("a dog", "a big dog", 3.0),
    ("she sells shells", "an old house", 0.0),
    ("cats and dogs", "dogs and cats", 4.0),
]
lines = ["sentence1\tsentence2\tscore", *("\t".join(map(str, row)) for row in judged)]
Path("pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
scores = zoo.evaluate(run, data="pairs.tsv")
print(f"rank correlation {scores['spearman']:.1f} %, between {scores['spearman_interval']}")

# %% [markdown]
# The artefact gives the same vectors without Keras, for any number of texts.

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
things = ("house", "dog", "cat", "sea shell", "apple", "old tree", "river")
texts = [
    f"{who} {does} the {thing}"
    for who in ("she", "a man", "the dog")
    for does in ("sees", "sells", "likes")
    for thing in things
]
answers = Runtime(artefact).run(texts)

# %% [markdown]
# Vectors of the length 1: the nearest texts have the largest products.

# %%
import numpy as np

vectors = np.array([answer.vector for answer in answers])
near = vectors @ vectors[texts.index("she sells the sea shell")]
for place in np.argsort(-near)[:5]:
    print(f"{near[place]:.3f}  {texts[place]}")
