"""One label for a whole text: topics, sentiments, intents, answers to questions about a story."""

import dataclasses

from zoo import scores as scoring
from zoo.data import LabelledBatches
from zoo.settings.data import Babi, Files, Sst, Sst5, Trec
from zoo.settings.models import Recurrent, Transformer
from zoo.settings.slots import READS, RECURRENT_READS
from zoo.settings.text import Scope
from zoo.settings.training import LabelLoss
from zoo.tasks.parts.labelling import Labelling
from zoo.tasks.parts.task import Choice, building, zoo_models


class Classify(Labelling):
    """A text to one of its labels, by a `Classifier`; scored by accuracy and macro F1."""

    name = "classify"
    kind = "labelled"
    data = (Files, Trec, Sst, Sst5, Babi)
    models = {
        "transformer": Choice(Transformer, READS, (LabelLoss,)),
        "recurrent": Choice(Recurrent, RECURRENT_READS, (LabelLoss,)),
    }
    scope = Scope

    def batches_of(self, words, ids, **plan):
        """One label for each text."""
        return LabelledBatches(words, [each[0] if each else 0 for each in ids], **plan)

    def scored_by(self, recipe, references):
        """Accuracy and macro F1; where some texts are out of scope and some are not, the recall of those first."""
        label = recipe.scope.label
        scoped = label in references and any(each != label for each in references)
        return ("out_of_scope", {"label": label}) if scoped else ("classification", {})

    def score(self, recipe, outputs, references):
        """Accuracy and macro F1, and what is known of texts out of scope."""
        name, options = self.scored_by(recipe, references)
        scores = scoring.classification(outputs, references)
        return scores if name == "classification" else scores | scoring.out_of_scope(outputs, references, **options)

    def examples(self, recipe, split, directory=None, whole=None):
        """Those of the split; texts out of scope are left out of the training where their label is not learnt."""
        all_examples, own = super().examples(recipe, split, directory, whole), recipe.scope
        if split != "train" or not own.label or own.trained:
            return all_examples
        kept = all_examples.take(_in_scope(own, all_examples.answers))
        left_out = len(all_examples) - len(kept)
        note = f"texts out of scope ({own.label!r}), which are not learnt: {left_out:,}"
        return dataclasses.replace(kept, notes=(*kept.notes, note)) if left_out else all_examples

    def labels(self, recipe, answers):
        """The labels of the training, sorted, without the one of texts out of scope where it is not learnt."""
        own = recipe.scope
        return super().labels(recipe, answers if own.trained else [answers[row] for row in _in_scope(own, answers)])

    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """Texts and the ids of their labels, without those out of scope where their label is not learnt.

        Raises:
            ValueError: a label that the training did not have, or no validation text for the choice of a threshold.
        """
        own, (inputs, answers) = recipe.scope, examples
        if own.chosen and not training:
            _check_choice(own, answers)
        if own.label and not own.trained:
            kept = _in_scope(own, answers)
            examples = [inputs[row] for row in kept], [answers[row] for row in kept]
        return super().batches(recipe, tokenizers, labels, examples, training)

    def answerable(self, run):
        """The labels of the training, and the one of texts out of scope."""
        own = run.recipe.scope.label
        return super().answerable(run) | ({own} if own else set())

    def threshold(self, run, examples):
        """The probability that gives the highest accuracy on the validation texts, out of scope or not."""
        own, (inputs, answers) = run.recipe.scope, examples
        if not own.chosen:
            return None
        outputs, confidences, _ = super().predict(run, inputs)
        return scoring.choose_threshold(outputs, answers, confidences, own.label)

    def predict(self, run, texts, progress=None, compiled=None):
        """As of its base; a text below the run's threshold is out of scope, to which the model gives no probability."""
        outputs, confidences, cut = super().predict(run, texts, progress, compiled)
        if run.threshold is not None:
            outputs = scoring.with_threshold(outputs, confidences, run.threshold, run.recipe.scope.label)
            confidences = [None if each < run.threshold else each for each in confidences]
        return outputs, confidences, cut

    def evaluate(self, run, examples, *, beams=None, progress=None):
        """The scores of the labels, and the threshold if there is one."""
        evaluation = super().evaluate(run, examples, beams=beams, progress=progress)
        own = {} if run.threshold is None else {"threshold": run.threshold}
        return evaluation._replace(scores=evaluation.scores | own)

    def model(self, recipe, *sizes):
        """A `Classifier`."""
        return building.reader(zoo_models.Classifier, recipe, *sizes)


def _in_scope(scope, answers):
    """The numbers of the examples that are in scope."""
    return [row for row, answer in enumerate(answers) if answer != scope.label or not scope.label]


def _check_choice(scope, answers):
    """Refuse a validation split that says nothing of a threshold."""
    known = len(_in_scope(scope, answers))
    if known in (0, len(answers)):
        raise ValueError(
            "the threshold for texts out of scope is chosen on the validation split, which must hold texts in scope "
            f"and some out of scope, labelled {scope.label!r}; it holds {known:,} and {len(answers) - known:,}. Name "
            "such a file with data.valid (a list may name several), correct scope.label, or set scope.threshold=false "
            "and scope.trained=true."
        )


TASK = Classify()
