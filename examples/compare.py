# %% [markdown]
# # One label for two texts
# Which of two dates is the earlier one, whatever the language that they are written in. The pairs are generated.

# %%
from zoo import recipes

recipe = recipes.load("date-pairs-transformer-pre-norm")
inputs, answers = recipes.read(recipe, "test")
for pair, answer in list(zip(inputs, answers, strict=True))[:3]:
    print(pair, answer)

# %% [markdown]
# The recipe of the zoo trains for 3,000 steps. `settings` changes it: a small model for half a minute, which learns
# little more than the years. Your own pairs come from a file: `seqzoo new compare pairs.csv --out pairs.toml`.

# %%
import zoo

small = {
    "data": {"train_size": 2_000, "valid_size": 60, "test_size": 90},
    "model": {"units": 32, "num_layers": 1, "hidden_units": 64},
    "training": {"steps": 200, "warmup": 20, "validate_every": 100, "batch_size": 32, "num_buckets": 1},
}
run = zoo.train(recipe, out="runs/date-pairs", settings=small)

# %%
scores = zoo.evaluate(run)
print(f"accuracy {scores['accuracy']:.1f} %, {scores['accuracy_interval']}")
for row in scores["by_label"]:
    print(row)

# %% [markdown]
# In an artefact a pair is one line, with a TAB between its texts.

# %%
from serving import Runtime
from serving.export import export_run

artefact = export_run(run, int8=False)
answers = Runtime(artefact).run(["4. Juli 1976\t14 juillet 2022", "1999年3月3日\tMarch 3rd, 1999"])
for answer in answers:
    print(answer.label, answer.probabilities)
