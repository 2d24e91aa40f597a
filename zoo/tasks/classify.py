"""One label for a whole text: topics, sentiments, intents, answers to questions about a story."""

import dataclasses

from zoo import scores as scoring
from zoo.settings.data import Babi, Files, Sst, Sst5, Trec
from zoo.settings.text import Scope
from zoo.tasks.parts.labelling import Labelling
from zoo.tasks.parts.task import with_lstm

FEW = 5_000  # examples up to which an LSTM labels as many texts correctly as a Transformer, see docs/benchmarks.md


class Classify(Labelling):
    """A text to one of its labels, by a `Classifier`; scored by accuracy and macro F1."""

    name = "classify"
    kind = "labelled"
    rating = "rate"
    data = (Files, Trec, Sst, Sst5, Babi)
    scope = Scope

    def starter(self, examples, kind=None):
        """A small Transformer; where there are few examples, or somebody has chosen it, a bidirectional LSTM."""
        settings = super().starter(examples)
        return with_lstm(settings) if kind == "recurrent" or kind is None and len(examples) <= FEW else settings

    def reasons(self, examples):
        """Why few examples are learnt by another kind of model."""
        few = f"{len(examples):,} examples are few: a recurrent model learns more from them than a Transformer"
        return [few] if len(examples) <= FEW else []

    def choose_scoring(self, recipe, references):
        """Accuracy and macro F1; if only some texts are out of scope, also the recall of these."""
        label = recipe.scope.label
        scoped = label in references and any(each != label for each in references)
        return ("out_of_scope", {"label": label}) if scoped else ("classification", {})

    def score(self, recipe, outputs, references):
        """Accuracy and macro F1, and the scores of texts out of scope."""
        name, options = self.choose_scoring(recipe, references)
        scores = scoring.classification(outputs, references)
        return scores if name == "classification" else scores | scoring.out_of_scope(outputs, references, **options)

    def examples(self, recipe, split, directory=None, train_examples=None):
        """The examples of the split; texts out of scope are left out of training if their label is not learnt."""
        examples, scope = super().examples(recipe, split, directory, train_examples), recipe.scope
        if split != "train" or not scope.label or scope.trained:
            return examples
        in_scope = examples.take(_rows_in_scope(scope, examples.answers))
        left_out = len(examples) - len(in_scope)
        note = f"texts out of scope ({scope.label!r}), which are not learnt: {left_out:,}"
        return dataclasses.replace(in_scope, notes=(*in_scope.notes, note)) if left_out else examples

    def labels(self, recipe, answers):
        """The labels of the training, sorted, without the one of texts out of scope if it is not learnt."""
        if not recipe.scope.trained:
            answers = [answers[row] for row in _rows_in_scope(recipe.scope, answers)]
        return super().labels(recipe, answers)

    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """Texts and the ids of their labels, without those out of scope if their label is not learnt.

        Raises:
            ValueError: a label that the training did not have, or no validation text for the choice of a threshold.
        """
        scope, (inputs, answers) = recipe.scope, examples
        if scope.chosen and not training:
            _check_choice(scope, answers)
        if scope.label and not scope.trained:
            rows = _rows_in_scope(scope, answers)
            examples = [inputs[row] for row in rows], [answers[row] for row in rows]
        return super().batches(recipe, tokenizers, labels, examples, training)

    def answerable_labels(self, run):
        """The labels of the training, and the one of texts out of scope."""
        label = run.recipe.scope.label
        return super().answerable_labels(run) | ({label} if label else set())

    def threshold(self, run, examples):
        """The probability that gives the highest accuracy on the validation texts, out of scope or not."""
        scope, (inputs, answers) = run.recipe.scope, examples
        if not scope.chosen:
            return None
        outputs, confidences, _ = super().predict(run, inputs)
        return scoring.choose_threshold(outputs, answers, confidences, scope.label)

    def predict(self, run, texts, progress=None, compiled=None):
        """As of its base; a text whose label is less likely than the run's threshold is out of scope, with the
        probability that this label is wrong."""
        outputs, confidences, cut = super().predict(run, texts, progress, compiled)
        if run.threshold is not None:
            outputs = scoring.with_threshold(outputs, confidences, run.threshold, run.recipe.scope.label)
            confidences = [1 - each if each < run.threshold else each for each in confidences]
        return outputs, confidences, cut

    def evaluate(self, run, examples, *, beams=None, progress=None):
        """The scores of the labels, and the threshold if there is one."""
        evaluation = super().evaluate(run, examples, beams=beams, progress=progress)
        threshold = {} if run.threshold is None else {"threshold": run.threshold}
        return evaluation._replace(scores=evaluation.scores | threshold)


def _rows_in_scope(scope, answers):
    """The indices of the examples that are in scope."""
    return [row for row, answer in enumerate(answers) if answer != scope.label or not scope.label]


def _check_choice(scope, answers):
    """Refuse a validation split by which no threshold can be chosen."""
    in_scope = len(_rows_in_scope(scope, answers))
    if in_scope in (0, len(answers)):
        raise ValueError(
            "the threshold for texts out of scope is chosen on the validation split, which must hold texts in scope "
            f"and some out of scope, labelled {scope.label!r}; it holds {in_scope:,} and {len(answers) - in_scope:,}. "
            "Name such a file with data.valid (a list may name several), correct scope.label, or set "
            "scope.threshold=false and scope.trained=true."
        )


TASK = Classify()
