"""Table 2 of the Reformer in small: trained with some rounds of hashing, evaluated with others.

    KERAS_BACKEND=jax python benchmarks/reformer_duplication.py     # about 20 minutes of one core; goes on where it was
    python benchmarks/reformer_duplication.py --draw                # the plot, from the results

Trains the recipe `duplication-reformer` with 1, 2 and 4 rounds and with full attention over shared queries and keys
(one chunk), three seeds each, below `--runs`; then gives each model other rotations, 1, 2, 4 and 8 rounds of them and
full attention, and counts the right symbols of the second half. Writes results/reformer_duplication.json and
docs/zoo/figures/reformer-duplication.png.
"""

import argparse
import dataclasses
import json
import statistics
from pathlib import Path

from timing import RESULTS, table, write

ROUNDS, SEEDS, NAME = (1, 2, 4), (1, 2, 3), "duplication-reformer"
FIGURE = Path(__file__).parent.parent / "docs" / "zoo" / "figures" / "reformer-duplication.png"


def hashing(recipe, rounds):
    """The settings of `rounds` rounds; "full" is one chunk that holds everything."""
    if rounds == "full":
        return dataclasses.replace(recipe, hash_rounds=1, hash_chunk=2 * recipe.longest + 2, hash_resample=False)
    return dataclasses.replace(recipe, hash_rounds=rounds)


def train(rounds, seed, runs, overrides):
    """The directory of a run, trained as far as it is not."""
    from zoo import recipes

    directory = runs / f"{NAME}-{rounds}-{seed}"
    recipe = hashing(recipes.load(NAME, [*overrides, f"seed={seed}", "memory=plain"]), rounds)
    if not (directory / "training.json").is_file():
        recipes.train(recipe, directory, resume=directory.is_dir())
    return directory


def accuracy(directory, rounds):
    """Share of right symbols, in per cent, of the model with that many rounds of hashing."""
    from zoo import recipes
    from zoo.recipes.models import make_model

    recipe, model, tokenizer, _ = recipes.open_run(directory)
    other = hashing(recipe, rounds)
    changed = make_model(other, tokenizer.vocab_size)
    for variable, value in zip(changed.trainable_variables, model.trainable_variables, strict=True):
        variable.assign(value)
    return recipes.evaluate((other, changed, tokenizer, None), [], "test")[0]["token_accuracy"]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("build/duplication"), help="where the trainings live")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the recipe")
    parser.add_argument("--draw", action="store_true", help="only draw the results that are there")
    options = parser.parse_args(arguments)
    if not options.draw:
        rows = []
        for trained in (*ROUNDS, "full"):
            found = [train(trained, seed, options.runs, options.set) for seed in SEEDS]
            for evaluated in (*ROUNDS, 8, "full"):
                scores = [round(accuracy(directory, evaluated), 2) for directory in found]
                rows.append(
                    {"trained": trained, "evaluated": evaluated, "median": statistics.median(scores), "seeds": scores}
                )
                print(table(rows[-1:]), flush=True)
        write("reformer_duplication", rows, recipe=NAME, overrides=options.set)
    draw(json.loads((RESULTS / "reformer_duplication.json").read_text())["rows"])


def draw(rows):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4))
    for trained in dict.fromkeys(row["trained"] for row in rows):
        own = [row for row in rows if row["trained"] == trained]
        places = range(len(own))
        line = axes.plot(places, [row["median"] for row in own], marker="o", label=f"{trained}")[0]
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
