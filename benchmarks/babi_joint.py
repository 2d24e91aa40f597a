"""bAbI by one Universal Transformer for nineteen tasks: the error of each.

    python benchmarks/babi_joint.py --data DIR --runs RUNS    # writes benchmarks/results/babi_joint.json

The recipe is `babi-universal-act`, with one seed, trained in RUNS/babi-joint; a finished run is not trained again.
`error` is in percent of the task's 1,000 test questions; a task has failed with more than 5 %. DIR is that of
`zoo.data.babi`.
"""

import argparse
import dataclasses
import json
import os
import statistics
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from harness.report import table
from msgspec import structs
from timing import write

from zoo import recipes
from zoo.runs import evaluate, open_run, train

FAILED = 5


def trained(runs, data):
    """`(run, training.json)`, trained if it was not yet."""
    directory = runs / "babi-joint"
    if not (directory / "training.json").is_file():
        train(recipes.load("babi-universal-act"), directory, data, resume=True)
    return open_run(directory), json.loads((directory / "training.json").read_text(encoding="utf-8"))


def error(run, task, data):
    """Of the test questions of one task, in percent."""
    table = structs.replace(run.recipe.data, number=task)
    alone = dataclasses.replace(run, recipe=structs.replace(run.recipe, data=table))
    return round(100 - evaluate(alone, "test", data)[0]["accuracy"], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--runs", type=Path, required=True)
    options = parser.parse_args()
    run, summary = trained(options.runs, options.data)
    rows = [{"task": task, "error": error(run, task, options.data)} for task in run.recipe.data.number]
    print(table(rows))
    errors = [row["error"] for row in rows]
    found = {"mean": round(statistics.mean(errors), 2), "failed": sum(each > FAILED for each in errors)}
    found |= {"parameters": summary["parameters"], "updates": summary["steps"]}
    found |= {"seconds": round(summary["training_seconds"])}
    print(found)
    write("babi_joint", rows, **found)


if __name__ == "__main__":
    main()
