"""Table 2 of the Reformer in small: trained with some rounds of hashing, evaluated with others.

    KERAS_BACKEND=jax python benchmarks/reformer_duplication.py     # about 20 minutes of one core; goes on where it was
    python benchmarks/reformer_duplication.py --draw                # the plot, from the results

Trains the recipe `duplication-reformer` with 1, 2 and 4 rounds and with full attention over shared queries and keys
(one chunk), three seeds each, below `--runs`; then gives each model other rotations, 1, 2, 4 and 8 rounds of them and
full attention, and counts the right symbols of the second half: the mean over five draws of rotations. Writes
results/reformer_duplication.json and docs/zoo/figures/reformer-duplication.png, whose lines are the medians of the
seeds that learnt at all.
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np
from harness.report import table
from msgspec import structs
from timing import RESULTS, write

ROUNDS, SEEDS, NAME = (1, 2, 4), (1, 2, 3), "duplication-reformer"
LEARNT = 10.0  # per cent; a seed below it never found the first half (chance is 2)
FIGURE = Path(__file__).parent.parent / "docs" / "zoo" / "figures" / "reformer-duplication.png"


def hashing(recipe, rounds):
    """The settings of `rounds` rounds; "full" is one chunk that holds everything."""
    changed = {"rounds": rounds}
    if rounds == "full":
        changed = {"rounds": 1, "chunk_length": 2 * recipe.data.longest + 2, "resample": False}
    return structs.replace(recipe, attention=structs.replace(recipe.attention, **changed))


def train(rounds, seed, runs, overrides):
    """The directory of a run, trained as far as it is not."""
    from zoo import recipes
    from zoo.runs import train as train_recipe

    directory = runs / f"{NAME}-{rounds}-{seed}"
    recipe = hashing(recipes.load(NAME, [*overrides, f"training.seed={seed}", "depth.activations=plain"]), rounds)
    if not (directory / "training.json").is_file():
        train_recipe(recipe, directory, resume=directory.is_dir())
    return directory


class Scorer:
    """The share of right symbols, in per cent, of any of the trained models with that many rounds of hashing."""

    def __init__(self, recipe, rounds, vocab_size):
        from zoo.tasks.parts.answering import Compiled
        from zoo.tasks.parts.building import build_model
        from zoo.training.losses import token_sums
        from zoo.training.steps import model_inputs

        self.model = model = build_model(recipe.job, hashing(recipe, rounds), vocab_size)
        self.sums = Compiled(
            model, lambda batch: token_sums(batch["labels"], model(model_inputs(batch)), batch["weights"])
        )

    def __call__(self, run, sentences=512, draws=5):
        """The mean over draws of the rotations."""
        from zoo.recipes import read

        recipe = run.recipe
        for variable, value in zip(self.model.trainable_variables, run.model.trainable_variables, strict=True):
            variable.assign(np.array(value))  # a copy: a compiled step gives its buffers away
        texts = [side[:sentences] for side in read(recipe, "test")]
        batches = list(recipe.job.batches(recipe, run.tokenizers, (), texts))
        rotations, total = self.model.decoder.blocks[0].attention.rotations, 0
        for draw in range(draws):
            for rotation in rotations:
                rotation.assign(np.random.default_rng(draw).normal(size=rotation.shape))
            total = total + sum(np.asarray(self.sums.predict_on_batch(batch), "float64") for batch in batches)
        return 100 * total[1] / total[2]


def measure(runs):
    """A row for each number of rounds in training and each in evaluation."""
    from zoo.runs import open_run

    opened = {trained: [open_run(directory) for directory in own] for trained, own in runs.items()}
    first = opened[ROUNDS[0]][0]
    rows = []
    for evaluated in (*ROUNDS, 8, "full"):
        scorer = Scorer(first.recipe, evaluated, first.tokenizers[0].vocab_size)
        for trained, own in opened.items():
            scores = [round(float(scorer(run)), 2) for run in own]
            rows.append({"trained": trained, "evaluated": evaluated, "seeds": scores})
    return sorted(rows, key=lambda row: list(runs).index(row["trained"]))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("build/duplication"), help="where the trainings live")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the recipe")
    parser.add_argument("--draw", action="store_true", help="only draw the results that are there")
    options = parser.parse_args(arguments)
    if not options.draw:
        runs = {
            trained: [train(trained, seed, options.runs, options.set) for seed in SEEDS]
            for trained in (*ROUNDS, "full")
        }
        rows = measure(runs)
        print(table(rows))
        write("reformer_duplication", rows, recipe=NAME, overrides=options.set)
    draw(json.loads((RESULTS / "reformer_duplication.json").read_text())["rows"])


def typical(scores, learnt):
    """The median of the seeds that learnt at all."""
    kept = [score for score, did in zip(scores, learnt, strict=True) if did]
    return statistics.median(kept or scores)


def draw(rows):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4))
    for trained in dict.fromkeys(row["trained"] for row in rows):
        own = [row for row in rows if row["trained"] == trained]
        places = range(len(own))
        learnt = [max(seed) > LEARNT for seed in zip(*(row["seeds"] for row in own), strict=True)]
        label = f"{trained} ({sum(learnt)} of {len(learnt)} seeds learnt)"
        line = axes.plot(places, [typical(row["seeds"], learnt) for row in own], marker="o", label=label)[0]
        for place, row in zip(places, own, strict=True):
            axes.plot([place] * len(row["seeds"]), row["seeds"], ".", color=line.get_color(), alpha=0.4)
    axes.set_xticks(range(len(own)), [str(row["evaluated"]) for row in own])
    axes.set(xlabel="rounds of hashing in evaluation", ylabel="right symbols, %", ylim=(0, 103))
    axes.legend(title="rounds in training", loc="lower right")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=130)


if __name__ == "__main__":
    main()
