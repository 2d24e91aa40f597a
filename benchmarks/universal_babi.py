"""bAbI by a Universal Transformer with adaptive steps: errors, and how long it thinks about stories.

    python benchmarks/universal_babi.py --data DIR --runs RUNS          # writes results/universal_babi.json, babi.png
    python benchmarks/universal_babi.py --data DIR --runs RUNS --quick  # task 1, 20 updates; writes nothing

One model a task, of the recipe `babi-1-universal-act` (or `babi-2-universal-act`, for task 2), one seed, trained in
RUNS/babi-TASK; a finished run there is not trained again. `error` is in percent of the task's 1,000 test questions;
`facts` is how many facts support an answer, on average, as the files say; `steps` is the mean number of steps that the
sentences of the test's stories took (facts and question alike), with its standard deviation over sentences. `--tasks`
measures some of them and leaves the results of the others as they are; the figure is drawn anew with 1 and 2. DIR
is that of `zoo.data.babi`; of task 3 it may hold 900 training questions only, the others have 9,000.
"""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
from harness.report import table
from keras import ops
from timing import RESULTS, write

from zoo import recipes
from zoo.core.masks import length_mask
from zoo.data import read_lines
from zoo.data.corpora import find_babi
from zoo.runs import evaluate, open_run, train
from zoo.tasks.parts.answering import Compiled

FIGURE = Path(__file__).parents[1] / "docs/zoo/figures/babi.png"
DRAWN = (1, 2)


def trained(task, options):
    """`(run, training.json)` of a task, trained if it was not yet."""
    directory, name = Path(options.runs) / f"babi-{task}", f"babi-{2 if task == 2 else 1}-universal-act"
    if not (directory / "training.json").is_file():
        settings = [f"data.number={task}", *options.set]
        train(recipes.load(name, settings), directory, options.data, resume=True)
    summary = json.loads((directory / "training.json").read_text(encoding="utf-8"))
    return open_run(directory), summary


def ponder(run, texts, answers):
    """The steps that each sentence of each text took, in the order of the text: a list of arrays."""
    model = run.model

    def steps(batch):
        mask = length_mask(batch["lengths"], ops.shape(batch["token_ids"])[1])
        x, mask = model.embedding(ops.where(mask, batch["token_ids"], 0), mask=mask)
        _, thought = model.encoder.ponder(model.positions(x, mask=mask), mask)
        return ops.where(mask, thought["updates"], -1.0)

    counted = Compiled(model, steps)
    examples = texts, [run.labels[0]] * len(answers)
    batches = run.recipe.job.batches(run.recipe, run.tokenizers, run.labels, examples)
    found = [None] * len(texts)
    for number, batch in enumerate(batches):
        taken = np.asarray(counted.predict_on_batch(batch))
        for row, each in zip(batches.examples(number), taken, strict=False):
            found[row] = each[each >= 0][::-1]  # the embedding has the last sentence first
    return found


def supporting(directory, task):
    """How many facts support an answer of the test, on average."""
    (path,) = find_babi(directory, "test", task)
    lines = [line.split("\t") for line in read_lines(path)]
    return float(np.mean([len(line[2].split()) for line in lines if len(line) > 2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--runs", required=True)
    parser.add_argument("--tasks", type=int, nargs="+", default=list(range(1, 21)))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the recipe")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.tasks, options.set = [1], ["training.steps=20", "training.warmup=0", "training.validate_every=20"]
    rows, drawn = [], {}
    for task in options.tasks:
        run, summary = trained(task, options)
        texts, answers = recipes.read(run.recipe, "test", options.data)
        scores, outputs = evaluate(run, "test", options.data)
        taken = ponder(run, texts, answers)
        each = np.concatenate(taken)
        rows.append(
            {
                "task": task,
                "error": round(100 - scores["accuracy"], 1),
                "facts": round(supporting(options.data, task), 1),
                "steps": round(float(each.mean()), 2),
                "deviation": round(float(each.std()), 2),
                "steps of questions": round(float(np.mean([one[-1] for one in taken])), 2),
                "updates": summary["steps"],
                "seconds": round(summary["training_seconds"]),
            }
        )
        print(table(rows[-1:]).splitlines()[-1], flush=True)
        if task in DRAWN:
            drawn[task] = example(texts, answers, outputs, taken)
        if not options.quick:
            write("universal_babi", with_others(rows))
    if not options.quick and len(drawn) == len(DRAWN):
        draw(with_others(rows), drawn)
    print(table(rows))


def with_others(rows):
    """The rows, and those that are known of other tasks, by task."""
    path = RESULTS / "universal_babi.json"
    known = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    found = {row["task"]: row for row in [*known, *rows]}
    return [found[task] for task in sorted(found)]


def example(texts, answers, outputs, taken, most=10):
    """The first right answer to a story of a fitting length: its sentences, with the answer, and their steps."""
    for text, answer, output, steps in zip(texts, answers, outputs, taken, strict=True):
        if answer == output and 6 <= len(steps) <= most:
            sentences = [f"{fact}." for fact in text.split(". ")[:-1]] + [f"{text.split('. ')[-1]} {answer}"]
            return sentences, steps
    return [], []


def draw(rows, drawn):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    drawn = {task: each for task, each in drawn.items() if each[0]}
    compared = len(rows) > len(drawn)
    # A page shows about eight inches across: two stories side by side, and what is compared below them.
    mosaic = [[f"story {task}" for task in drawn]] + [["compared"] * len(drawn)] * compared
    figure, panels = plt.subplot_mosaic(mosaic, figsize=(5 * len(drawn), 3 + 2.6 * compared), layout="constrained")
    axes = list(panels.values())
    for axis, (task, (sentences, steps)) in zip(axes, drawn.items(), strict=False):
        places = np.arange(len(sentences))[::-1]
        axis.barh(places, steps, color=["C0"] * (len(steps) - 1) + ["C1"])
        axis.set_yticks(places, sentences)
        axis.set(title=f"task {task}", xlabel="steps", xlim=(0, 4.2))
    if compared:
        compare(axes[-1], rows)
    figure.savefig(FIGURE, dpi=120)


def compare(axis, rows):
    """Steps of questions, a bar a task; pale where the task is not learnt."""
    rows = sorted(rows, key=lambda row: (round(row["facts"]), row["task"]))
    for place, row in enumerate(rows):
        axis.bar(
            place,
            row["steps of questions"],
            color=f"C{round(row['facts']) + 1}",
            alpha=1 if row["error"] <= 5 else 0.35,
        )
    for facts in sorted({round(row["facts"]) for row in rows}):
        axis.bar(0, 0, color=f"C{facts + 1}", label=f"{facts} supporting fact{'s' * (facts > 1)}")
    axis.set_xticks(range(len(rows)), [row["task"] for row in rows])
    axis.set(xlabel="task (pale: not learnt)", ylabel="steps of questions", ylim=(0, 4.2))
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)  # beside the bars


if __name__ == "__main__":
    main()
