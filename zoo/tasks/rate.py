"""A number for a text: stars, grades, how strong something is."""

import math

import numpy as np

from zoo.data import LabelledBatches
from zoo.settings.data import Files
from zoo.settings.text import Read
from zoo.settings.training import NumberLoss
from zoo.tasks.parts.labelling import BATCH_SIZE
from zoo.tasks.parts.task import Evaluation, Task, answering, building, readers, small_reader_settings, zoo_models
from zoo.tasks.parts.vocabularies import bucket_plan, cut_texts

DIGITS = 7  # significant ones of an answer, as many as float32 has


class Rate(Task):
    """A text to a number, by a `Classifier` with one output; scored by its mean absolute error and its correlation.

    In training, numbers are counted in deviations from their mean, as the recipe's loss says. When it ends, the last
    layer is rescaled, so that a run and its artefact answer in the unit of the data.
    """

    name = "rate"
    kind = "rated"
    data = (Files,)
    text = Read
    models = readers(NumberLoss)
    network, batch_type = "Classifier", LabelledBatches

    def starter(self, examples, kind=None):
        """A small Transformer that reads, and the mean and the deviation of the numbers."""
        numbers = np.array([float(answer) for answer in examples.answers])
        deviation = round_number(np.ptp(numbers) and numbers.std()) or 1.0  # of equal numbers it may be 1e-17
        loss = {"mean": round_number(numbers.mean(), deviation), "deviation": deviation}
        return small_reader_settings() | {"loss": loss}

    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """Texts and their numbers, in deviations from the mean."""
        inputs, answers = examples
        mean, deviation = recipe.loss.mean, recipe.loss.deviation
        numbers = [(float(answer) - mean) / deviation for answer in answers]
        return self._make_batches(recipe, tokenizers[0], inputs, numbers, bucket_plan(recipe, training))

    def _make_batches(self, recipe, tokenizer, inputs, numbers, plan):
        words, cut = self.encode(recipe, tokenizer, inputs)
        batches = self.batch_type(words, numbers, around=tokenizer.around, **plan)
        batches.cut = cut
        return batches

    def encode(self, recipe, tokenizer, inputs):
        """(the words of each text, how many texts `max_input_length` cut)."""
        return cut_texts([tokenizer.words(text) for text in inputs], recipe.text.max_input_length)

    def model(self, recipe, *sizes):
        """Its network with one output."""
        return building.make_reader(getattr(zoo_models, self.network), recipe, *sizes, 1)

    def begin(self, recipe, model, taken):
        """Make the last layer, if it is that of a finished run, count in deviations from the mean."""
        mean, deviation = recipe.loss.mean, recipe.loss.deviation
        if any(path.startswith("readout") for path in taken):
            scale(model.readout, 1 / deviation, -mean / deviation)

    def calibrate(self, run, examples):
        """Make the last layer answer in the unit of the data; nothing is measured, so None is returned."""
        scale(run.model.readout, run.recipe.loss.deviation, run.recipe.loss.mean)

    def predict(self, run, inputs, progress=None):
        """(the number of each input as a string, how many texts were cut)."""
        plan = {"batch_size": BATCH_SIZE, "shuffle": False}
        batches = self._make_batches(run.recipe, run.tokenizers[0], inputs, [0.0] * len(inputs), plan)
        answering.check_lengths(run.recipe, run.model, {"data": batches})
        compiled, outputs = answering.compile_answers(run.model), {}
        for step, batch in enumerate(batches):
            numbers = np.asarray(compiled.predict_on_batch(batch))
            outputs |= dict(zip(batches.examples(step), map(write_number, numbers.tolist()), strict=False))
            if progress:
                progress(len(outputs))
        return [outputs[row] for row in range(len(inputs))], batches.cut

    def evaluate(self, run, examples, *, beams=None, progress=None):
        """The scores of the numbers."""
        inputs, answers = examples
        outputs, cut = self.predict(run, list(inputs), progress and (lambda done: progress(done, len(inputs))))
        return Evaluation(self.score(run.recipe, outputs, answers) | {"cut": cut}, outputs, inputs, answers)

    def choose_scoring(self, recipe, references):
        """Mean absolute error, and Pearson's and Spearman's correlation."""
        return "rating", {}

    def score(self, recipe, outputs, references):
        """The scores; the answer to a text that was refused is the mean, the best guess without reading it."""
        return super().score(recipe, _fill_refused(recipe, outputs), references)

    def assess(self, recipe, inputs, outputs, references):
        """The `Evaluation`, all of whose outputs are numbers."""
        return super().assess(recipe, inputs, _fill_refused(recipe, outputs), references)

    def read_outputs(self, answers):
        """The numbers as strings, "" where a text was refused."""
        return ["" if answer is None else write_number(answer) for answer in answers]


def _fill_refused(recipe, outputs):
    """The outputs, with the mean of the training's numbers for each text that was refused."""
    return [each or write_number(recipe.loss.mean) for each in outputs]


def scale(layer, factor, offset):
    """Give a dense layer of output `y` the output `factor * y + offset`."""
    layer.kernel.assign(layer.kernel * factor)
    layer.bias.assign(layer.bias * factor + offset)


def write_number(number):
    """A number as the answers are kept."""
    return f"{number:.{DIGITS}g}"


def round_number(number, scale=None):
    """A number rounded to the place of the fourth digit of a scale, by default of itself; 0 if it is not finite."""
    if not number or not math.isfinite(number):
        return 0.0
    return round(float(number), 3 - math.floor(math.log10(abs(scale or number))))


TASK = Rate()
