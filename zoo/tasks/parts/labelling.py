"""What tasks with labels share, whether a label is for a text, for a pair of them or for a word."""

import dataclasses
import re
from collections import Counter
from typing import ClassVar

import numpy as np

from zoo.core.wording import quantity
from zoo.data import LabelledBatches
from zoo.data.formats.base import quote
from zoo.data.formats.unknown import mended_labels, say_unknown, unknown_labels
from zoo.scores.confidence import calibration_error, fit_temperature, softmax
from zoo.scores.transitions import likeliest_tags
from zoo.settings.text import Labelled
from zoo.settings.training import LabelLoss
from zoo.tasks.parts.task import Evaluation, Task, answering, building, readers, small_reader_settings, zoo_models
from zoo.tasks.parts.vocabularies import bucket_plan, cut_texts, make_noise

BATCH_SIZE = 64  # of texts that are labelled together
MOST_NAMED = 5  # labels that a note on mended labels names
ENOUGH = 50  # labels of the validation split that calibration needs
_NUMBER = re.compile(r"[-+]?\d+(?:[.,](\d+))?")


class Labelling(Task):
    """Texts to labels; a subclass says how a text has words and an answer several labels.

    Attributes:
        rating: the task that learns numbers in the place of labels; "" if there is none.
        network: the class of its model, in `zoo.models`.
        batch_type: the class of its batches, with one label for each text.
    """

    text = Labelled
    models = readers(LabelLoss)
    labelled = True
    rating: ClassVar[str] = ""
    network: ClassVar[str] = "Classifier"
    batch_type: ClassVar[type] = LabelledBatches

    def words(self, tokenizer, text):
        """The token ids of each word of a text; those of the tokenizer."""
        return tokenizer.words(text)

    def split(self, answer):
        """The labels of an answer: the only one, which may hold spaces."""
        return [answer]

    def batches_of(self, words, ids, **plan):
        """Batches of encoded texts and the ids of their labels (a list for each text), of which there is one here."""
        return self.batch_type(words, [each[0] if each else 0 for each in ids], **plan)

    def model(self, recipe, *sizes):
        """Its network."""
        return building.make_reader(getattr(zoo_models, self.network), recipe, *sizes)

    def starter(self, examples, kind=None):
        """A small Transformer that reads."""
        settings = small_reader_settings()
        training = settings["training"] | {"monitor": "accuracy"}
        return settings | {"loss": {"label_smoothing": 0.1}, "training": training}

    def notes(self, examples):
        """Which task is meant, if the labels are numbers between which others lie."""
        found = [_NUMBER.fullmatch(label) for label in set(examples.answers)] if self.rating else []
        if not found or not all(found) or not any((each[1] or "").strip("0") for each in found):
            return []
        return [f"the labels are numbers: `seqzoo new {self.rating}` learns how near one is to another"]

    def labels(self, recipe, answers):
        """The different labels of answers, sorted."""
        return tuple(sorted({label for answer in answers for label in self.split(answer)}))

    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """Texts and the ids of their labels.

        Raises:
            ValueError: a label that the training did not have.
        """
        inputs, answers = examples
        numbers = {name: number for number, name in enumerate(labels)}
        unknown = unknown_labels(labels, [label for answer in answers for label in self.split(answer)])
        if unknown:
            raise ValueError(f"Labels that the training does not have: {say_unknown(unknown, labels, 'the training')}.")
        words, cut = self.encode(recipe, tokenizers[0], inputs)
        ids = [[numbers[label] for label in self.split(answer)] for answer in answers]
        extra = self.changes(recipe, tokenizers[0], inputs) if training else {}
        batches = self.batches_of(words, ids, around=tokenizers[0].around, **bucket_plan(recipe, training), **extra)
        batches.cut = cut
        return batches

    def changes(self, recipe, tokenizer, inputs):
        """The arguments of the training's batches that change their texts."""
        return {"noise": make_noise(recipe.text, tokenizer, inputs)}

    def encode(self, recipe, tokenizer, texts):
        """(the token ids of each word of each text, how many texts `max_input_length` cut)."""
        return cut_texts([self.words(tokenizer, text) for text in texts], recipe.text.max_input_length)

    def transitions(self, labels):
        """Which label may follow which in an answer, see `zoo.scores.transitions`; None where any may."""
        return None

    def predict(self, run, texts, progress=None, compiled=None):
        """(the likeliest labels of each text; the probability of the least likely of them; how many texts were cut).

        Several labels, joined by one space, are the likeliest of those that may follow each other.

        Args:
            run: the `Run`.
            texts: a list.
            progress: called with the number of texts done.
            compiled: what `zoo.tasks.parts.answering.compile_labels` gave, so that it is not compiled once more.
        """
        model = run.model
        words, cut = self.encode(run.recipe, run.tokenizers[0], texts)
        around, no_labels = run.tokenizers[0].around, [[0] * len(each) for each in words]
        batches = self.batches_of(words, no_labels, around=around, batch_size=BATCH_SIZE, shuffle=False)
        answering.check_lengths(run.recipe, model, {"data": batches})

        allowed = self.transitions(run.labels)
        compiled = compiled or answering.compile_labels(model, allowed is not None)
        outputs, confidences = {}, [1.0] * len(texts)
        for step, batch in enumerate(batches):
            answers = (np.asarray(each) for each in compiled.predict_on_batch(batch))
            for row, *columns, weights in zip(batches.examples(step), *answers, batch["weights"], strict=False):
                columns = [np.atleast_1d(values)[np.atleast_1d(weights) > 0] for values in columns]
                ids, probabilities = columns if allowed is None else likeliest_tags(columns[0], allowed)
                outputs[row] = " ".join(run.labels[number] for number in ids)
                confidences[row] = float(min(1.0, probabilities.min(initial=1.0)))  # rounding may pass 1
            if progress:
                progress(len(outputs))
        return [outputs[row] for row in range(len(texts))], confidences, cut

    def calibrate(self, run, examples):
        """Divide the weights of the readout by the temperature with which the validation labels are likeliest.

        So each form of the model gives calibrated probabilities. Only `balance`, which is applied first, may change
        answers.

        Returns:
            {"temperature", "calibration_error", "calibration_error_before"} and what `balance` measured; None where
            there are too few labels.
        """
        batches = self.batches(run.recipe, run.tokenizers, run.labels, examples)
        compiled, texts = answering.compile_answers(run.model), []
        for batch in batches:
            rows = zip(np.asarray(compiled.predict_on_batch(batch)), batch["labels"], batch["weights"], strict=True)
            for logits, labels, weights in rows:
                counts = np.atleast_1d(weights) > 0
                if counts.any():
                    texts.append((np.atleast_2d(logits)[counts], np.atleast_1d(labels)[counts]))
        logits, labels = (np.concatenate(each) for each in zip(*texts, strict=True))
        if len(labels) < ENOUGH:
            return None
        added, balance = self.balance(run, texts)
        logits = logits + added
        run.model.readout.bias.assign_add(added)
        temperature = fit_temperature(logits, labels)
        for weight in run.model.readout.weights:
            weight.assign(weight / temperature)
        right = logits.argmax(axis=-1) == labels
        before, after = (
            calibration_error(softmax(each).max(axis=-1), right) for each in (logits, logits / temperature)
        )
        return {"temperature": temperature, "calibration_error": after, "calibration_error_before": before, **balance}

    def balance(self, run, texts):
        """(what is added to the logit of each label, a dict of what was measured); zeros and {} by default.

        Args:
            run: the `Run`.
            texts: for each text of the validation, its logits (labels of the text, labels) and the right ids.
        """
        return np.zeros(len(run.labels), "float32"), {}

    def mend_labels(self, recipe, examples, known):
        """`Examples` whose labels are spelled as the `known` ones; its notes say which, and how they differed."""
        if "labels" in recipe.data.rules_off:
            return examples
        known = {*known} | ({recipe.scope.label} if self.scope and recipe.scope.label else set())
        rows = [self.split(answer) for answer in examples.answers]
        spellings = mended_labels(known, [label for labels in rows for label in labels])
        if not spellings:
            return examples
        answers = [" ".join(spellings.get(label, (label,))[0] for label in labels) for labels in rows]
        counts = Counter(label for labels in rows for label in labels if label in spellings)
        notes = []
        for label, count in counts.most_common(MOST_NAMED):
            spelling, difference = spellings[label]
            notes.append(f"labels {quote(label)}, read as the training's {quote(spelling)}, {difference}: {count:,}")
        if len(counts) > MOST_NAMED:
            notes.append(f"{len(counts) - MOST_NAMED:,} more labels, read as the training's likewise")
        return dataclasses.replace(examples, answers=answers, notes=(*examples.notes, *notes))

    def answerable_labels(self, run):
        """The labels that a run can answer."""
        return set(run.labels)

    def evaluate(self, run, examples, *, beams=None, progress=None):
        """The scores of the likeliest labels; `unknown_labels` are those of the examples that the run cannot answer.

        Raises:
            ValueError: it can answer none of their labels.
        """
        inputs, answers = examples
        unknown = self._unknown_labels(run, answers)
        report = progress and (lambda done: progress(done, len(inputs)))
        outputs, confidences, cut = self.predict(run, inputs, report)
        scores = self.score(run.recipe, outputs, answers) | {"cut": cut}
        scores |= self.reliability(outputs, answers, confidences) | ({"unknown_labels": unknown} if unknown else {})
        return Evaluation(scores, outputs, inputs, answers, confidences=confidences)

    def reliability(self, outputs, references, confidences):
        """{"calibration_error"}: whether the confidences mean what they say, see `zoo.scores.confidence`."""
        rows = zip(confidences, outputs, references, strict=True)
        rows = [(confidence, output == reference) for confidence, output, reference in rows if confidence]
        return {"calibration_error": calibration_error(*zip(*rows, strict=True))} if rows else {}

    def _unknown_labels(self, run, answers):
        known = sorted(self.answerable_labels(run))
        labels = [label for answer in answers for label in self.split(answer)]
        unknown = unknown_labels(known, labels)
        if unknown and not set(known) & set(labels):
            raise ValueError(
                f"the model cannot answer any label of the {quantity(len(answers), 'example')}: "
                f"{say_unknown(unknown, known)}. Write them as in the training, or name the right column."
            )
        return unknown
