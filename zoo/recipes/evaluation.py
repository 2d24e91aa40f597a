"""What a finished run scores on a split of its data, by the kind of its model."""

import keras
import numpy as np

from zoo.data import LabelledBatches, TaggedBatches
from zoo.recipes import corpora
from zoo.recipes.data import encode_sentences, make_batches
from zoo.recipes.scoring import score, score_by_length
from zoo.recipes.translation import translate
from zoo.training import token_sums
from zoo.training.steps import model_inputs

BATCH_SIZE = 64
UNREAD = "_"  # the tag of a word behind the longest input, as CoNLL-U writes what is not said


def evaluate(run, labels, split, directory=None, *, beams=None, limit=None, progress=None):
    """Scores and outputs of a run.

    Args:
        run: see `zoo.recipes.open_run`.
        labels: see `zoo.recipes.open_labels`.
        split: of the recipe's data.
        directory: of the data, unless they are generated.
        beams: width of the search of a model that writes; the recipe's by default.
        limit: only the first so many examples; of a running text, characters.
        progress: called with the number of examples done and their total.

    Returns:
        A dict of scores, and a list of strings: translations, labels, or the tags of each sentence; empty for a
        language model.
    """
    recipe = run[0]
    inputs, answers = corpora.read(recipe, split, directory)
    if recipe.data == "text":
        return _language_model(run, [inputs[0][:limit]], answers), []
    inputs, answers = inputs[:limit], answers[:limit]
    if recipe.model == "language_model":
        return _language_model(run, inputs, answers), []
    report = progress and (lambda done: progress(done, len(inputs)))
    if labels:
        outputs, cut = _labelled(run, labels, inputs, report)
        return accuracy(outputs, answers) | {"cut": cut}, outputs
    outputs = translate(run, inputs, beams=beams, progress=report)
    return _writing(recipe, inputs, outputs, answers, beams)


def _writing(recipe, inputs, outputs, references, beams):
    outputs, references = (joined(side, recipe.joiner) for side in (outputs, references))
    how = {"tokenized": bool(recipe.joiner)}
    scores = {
        "beam": beams or recipe.beam,
        "alpha": recipe.alpha,
        **score(outputs, references, recipe.target_language, **how),
        "by_length": score_by_length(
            joined(inputs, recipe.joiner), outputs, references, recipe.source_language, recipe.target_language, **how
        ),
    }
    return scores, outputs


def joined(texts, joiner):
    """Texts without the joiners of their pieces: "viel@@ er" is "vieler"."""
    return [f"{text} ".replace(joiner, "").removesuffix(" ") for text in texts] if joiner else texts


def accuracy(outputs, answers):
    """Share of right labels, of texts or of words."""
    pairs = [(output.split(" "), answer.split(" ")) for output, answer in zip(outputs, answers, strict=True)]
    right = [one == other for output, answer in pairs for one, other in zip(output, answer, strict=True)]
    return {"sentences": len(pairs), "labels": len(right), "accuracy": 100 * sum(right) / len(right)}


def _language_model(run, inputs, answers):
    """Mean negative log-likelihood of a text, cut into windows that each begin anew, or of the answers to prompts."""
    recipe, model, tokenizer, _ = run
    judge = Compiled(model, lambda batch: token_sums(batch["labels"], model(model_inputs(batch)), batch["weights"]))
    batches = make_batches(recipe, (tokenizer,), (), (inputs, answers))
    characters = sum(map(len, answers)) or len(inputs[0])
    sums = sum(np.asarray(judge.predict_on_batch(batch), "float64") for batch in batches)
    return {
        "characters": characters,
        "tokens": int(sums[2]),
        "context": recipe.context,
        "nats_per_character": float(sums[0]) / characters,
        "token_accuracy": 100 * float(sums[1] / sums[2]),
    }


def label(run, labels, texts, progress=None):
    """The label of each text, or the tags of its words, joined by one space.

    Args:
        run: of a classifier or tagger, see `zoo.recipes.open_run`.
        labels: the names of its classes, see `zoo.recipes.open_labels`.
        texts: list of strings; the words of a tagger's are separated by one space.
        progress: called with the number of texts done, after each batch.

    Of a text only the first `max_input_length` tokens of the recipe are read; a word behind them is tagged "_".

    Returns:
        A list of strings in the order of `texts`.
    """
    return _labelled(run, labels, texts, progress)[0]


def _labelled(run, labels, texts, progress=None):
    """What `label` returns, and how many texts were cut."""
    recipe, model, tokenizer, _ = run
    (sentences, cut), plan = encode_sentences(recipe, tokenizer, texts), {"batch_size": BATCH_SIZE, "shuffle": False}
    if recipe.model == "tagger":
        batches = TaggedBatches(sentences, [[0] * len(sentence) for sentence in sentences], **plan)
    else:
        batches = LabelledBatches(sentences, [0] * len(sentences), **plan)
    best = Compiled(model, lambda batch: keras.ops.argmax(model(model_inputs(batch)), axis=-1))
    outputs = {}
    for step, batch in enumerate(batches):
        found = np.asarray(best.predict_on_batch(batch))
        for row, ids, there in zip(batches.examples(step), found, batch["weights"], strict=False):
            outputs[row] = " ".join(labels[number] for number in np.atleast_1d(ids)[np.atleast_1d(there) > 0])
        if progress:
            progress(len(outputs))
    if recipe.model == "tagger" and cut:
        unread = [len(text.split(" ")) - len(sentence) for text, sentence in zip(texts, sentences, strict=True)]
        outputs = {row: " ".join([*outputs[row].split(" "), *[UNREAD] * unread[row]]) for row in outputs}
    return [outputs[row] for row in range(len(texts))], cut


class Compiled(keras.Model):
    """`function(batch)`, which asks `model`; a model itself, for `predict_on_batch` compiles it on every backend."""

    def __init__(self, model, function):
        super().__init__()
        self.model, self.function = model, function
        self.built = True
        self.compile(jit_compile=True)

    def call(self, batch):
        return self.function(batch)
