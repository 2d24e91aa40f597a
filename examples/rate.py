# %% [markdown]
# # A number for a text
# How many of the words of a text are kind ones: a stand-in for the stars of reviews. Numbers that are near each other
# are nearly right, which labels cannot say. The texts are drawn here; yours come from a file with two columns.

# %%
import random
from pathlib import Path

random.seed(1)
kind, unkind, others = "great lovely fine superb".split(), "awful sad dull grim".split(), "the film was a day".split()
lines = ["review,stars"]
for _ in range(400):
    stars = random.randint(1, 5)
    words = random.choices(kind, k=stars) + random.choices(unkind, k=5 - stars) + random.choices(others, k=4)
    lines.append(f"{' '.join(random.sample(words, len(words)))},{stars}")
Path("stars.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

# %% [markdown]
# The proposal of `seqzoo new` has the mean and the deviation of the numbers, in which the training counts. `settings`
# make the model small.

# %%
import zoo
from zoo.recipes.proposal import propose

recipe, notes = propose("rate", ["stars.csv"], "stars")
print(recipe["loss"], notes)
small = {
    "model": {"units": 32, "num_layers": 1, "hidden_units": 64},
    "training": {"steps": 200, "warmup": 20, "validate_every": 100},
}
run = zoo.train(recipe, out="runs/stars", settings=small)

# %%
scores = zoo.evaluate(run)
print(f"{scores['mae']:.2f} stars off, correlation {scores['pearson']:.1f} %, {scores['pearson_interval']}")

# %% [markdown]
# The artefact answers in stars.

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
answers = Runtime(artefact).run(["a lovely day, superb, great", "the film was dull, awful and sad"])
for answer in answers:
    print(answer.rating)
