"""What a model that is to be published answers to its test set, how good that is, what int8 loses, and how fast it is.

The artefact itself is run, in the precision in which it will be run, on one thread; so the scores are its own.
"""

import statistics
import time
from dataclasses import dataclass

from serving.runtime import Runtime
from serving.runtime.manifest_format import int8_name
from zoo.core import processor
from zoo.recipes import check_data, evaluations, last_split, read
from zoo.recipes.evaluations import compare_records
from zoo.scores.plots import names_with_interval

TIMED = 20  # texts whose times are measured, one at a time
CLEAR = 0.05  # a p-value below it says that a difference is not chance


@dataclass(frozen=True)
class TestSet:
    """The split on which a model is scored.

    Args:
        data: the folder of the corpus, or a file of examples, where the recipe needs one.
        split: its name; "test" by default.
    """

    __test__ = False  # for pytest: this is no test

    data: str | None = None
    split: str | None = None

    def read(self, recipe):
        """(the name of the split, (inputs, answers)).

        Raises:
            ValueError: there is no test set, or it is not where it is said to be.
        """
        split = self.split or last_split(recipe, self.data)
        if split == "train":
            raise ValueError("A model is not scored on what it was trained on: expected another --split than train.")
        if split == "valid" and not self.split and not recipe.data.windows:
            raise ValueError(
                f"The data of the recipe {recipe.name} have no test set, and published scores are of one. Name a file "
                "with --test, or say --split valid: the card then tells that the weights were chosen on it."
            )
        check_data(recipe, (split,), self.data)
        return split, read(recipe, split, self.data)


@dataclass(frozen=True)
class Measurement:
    """What was measured of an artefact.

    Attributes:
        questions: (inputs, references), as they were asked.
        outputs: the answers in the default precision.
        evaluation: the `Evaluation` of these.
        int8: whether int8 loses nothing; None where there are no int8 graphs.
        compared: {score: [float32, int8]}, where there are.
        precision: the default one.
        speed: {"milliseconds", "batch", "precision", "processor"}.
    """

    questions: tuple
    outputs: list
    evaluation: object
    int8: bool | None
    compared: dict
    precision: str
    speed: dict


def measure(directory, recipe, examples, log=lambda line: None):
    """The `Measurement` of the artefact at `directory` and of examples, (inputs, answers)."""
    task, runtime = recipe.job, Runtime(directory, precision="float32", threads=1)
    inputs, references = task.questions(recipe, runtime, examples)
    runtimes = {"float32": runtime}
    if _has_int8(runtime.manifest):
        runtimes["int8"] = Runtime(directory, precision="int8", threads=1)
    outputs, assessments = {}, {}
    for precision, each in runtimes.items():
        log(f"asking the artefact {len(inputs):,} questions of the test set, in {precision}")
        outputs[precision] = task.respond(recipe, each, inputs, references)
        assessments[precision] = task.assess(recipe, inputs, outputs[precision], references)
    is_worse = _scores_less(recipe, log, *assessments.values()) if len(assessments) > 1 else None
    best = "float32" if is_worse is None or is_worse else "int8"
    names = [] if is_worse is None else names_with_interval(assessments[best].scores)
    compared = {name: [each.scores[name] for each in assessments.values()] for name in names}
    return Measurement(
        questions=(inputs, references),
        outputs=outputs[best],
        evaluation=assessments[best],
        int8=None if is_worse is None else not is_worse,
        compared=compared,
        precision=best,
        speed=speed(runtimes[best], best, task.lines(inputs[:TIMED])),
    )


def _has_int8(manifest):
    """Whether every graph that answers has an int8 form."""
    graphs = manifest.get("generation") or manifest["graphs"]
    return all(int8_name(graph) in manifest["files"] for graph in graphs.values())


def _scores_less(recipe, log, float32, int8):
    """Whether int8 scores less than float32: beyond the interval, or by a difference that is not chance."""
    sides = [evaluations.record(recipe, "test", each) for each in (float32, int8)]
    paired = compare_records("float32", "int8", *sides)
    leading = paired["scores"][paired["leading"]]
    least, most = leading["difference_interval"]
    log(
        f"int8 moves {paired['leading']} from {leading['a']:.5g} to {leading['b']:.5g}: {least:+.2g} to {most:+.2g} "
        f"at 95 % (paired bootstrap, p = {leading['p_value']:.2g})"
    )
    low, high = float32.scores[f"{paired['leading']}_interval"]
    is_worse = leading["better"] == "a"
    return is_worse and (leading["p_value"] < CLEAR or not low <= leading["b"] <= high)


def speed(runtime, precision, texts):
    """The median time of one text, after a first round that is not counted."""
    seconds = []
    for text in [*texts[:3], *texts]:
        start = time.process_time()  # of one thread; what else the machine is doing does not count
        runtime.run([text])
        seconds.append(time.process_time() - start)
    milliseconds = round(1e3 * statistics.median(seconds[len(texts[:3]) :]), 2)
    return {"milliseconds": milliseconds, "batch": 1, "precision": precision, "processor": processor.name()}
