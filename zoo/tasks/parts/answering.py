"""What tasks do with a built model: check lengths of texts, compile functions of batches, and search for outputs.

Texts that are longer than a model has positions for are refused before the first training step and the first answer.
Sentences are searched in compiled batches of similar lengths.
"""

import math

import keras
import numpy as np
from keras import ops

from zoo.core.protocols import Attention, Positions, find_declaring
from zoo.core.searching import OURS, mean_log_probability
from zoo.data import pad
from zoo.decoding import beam_search, greedy
from zoo.decoding.rules import LISTS, OFF, RANKING, Rules
from zoo.settings import table
from zoo.tasks.parts.vocabularies import right_answers
from zoo.text.base import EOS
from zoo.training.losses import row_sums
from zoo.training.steps import model_inputs

MULTIPLE = 8  # source lengths are padded to multiples of this, so that few programs are compiled


def max_tokens(model):
    """The most tokens of a text that a model takes, as its layers declare it; None if there is no bound."""
    bounds = (layer.traits.longest for layer in find_declaring(model, Attention, Positions))
    return min((each for each in bounds if each), default=None)


def check_lengths(recipe, model, batches):
    """Refuse batches that a built model cannot read.

    Args:
        recipe: the recipe.
        model: its model.
        batches: `{name: batches}`, such as the training's and the validation's.

    Raises:
        ValueError: which texts are too long, and what to set.
    """
    most = max_tokens(model)
    for name, each in batches.items():
        width = max(each.shapes[-1])
        if most and width > most and not _can_read(model, each.longest()):
            raise ValueError(
                f"the {name} has texts of up to {width} tokens, and the model has positions for {most}. Set "
                f"{_positions_setting(recipe)} to {width} or more, {_shortening_hint(recipe, name)}."
            )


def check_written_lengths(recipe, model):
    """Refuse a search for outputs that are longer than the model can write.

    Raises:
        ValueError: what to set.
    """
    most, length = max_tokens(model), recipe.search.max_output_length if recipe.search else 0
    if most and len(recipe.job.sides) == 2 and length > most:
        raise ValueError(
            f"search.max_output_length={length} is more than the {most} positions of the model, so no output could be "
            f"searched for. Set it to {most} or less, or {_positions_setting(recipe)} to {length} or more."
        )


def describe_lengths(recipe, model):
    """A note if a model that continues texts has positions for fewer tokens than the recipe asks for."""
    most = max_tokens(model) if recipe.search and len(recipe.job.sides) == 1 else None
    room = most - model.longest_prompt if most and model.longest_prompt else most
    if room and recipe.search.max_output_length > room:
        yield (
            f"continuations have at most {room} of the {recipe.search.max_output_length} tokens of "
            f"search.max_output_length: the model has positions for {most}, and reads up to {most - room} of a prompt"
        )


def _can_read(model, batch):
    """Whether the model can be called with a batch of such shapes; nothing is computed."""
    inputs = {name: keras.KerasTensor(each.shape, str(each.dtype)) for name, each in model_inputs(batch).items()}
    try:
        model(inputs)
    except ValueError:
        return False
    return True


def _shortening_hint(recipe, name):
    """The end of a sentence that says how the texts become shorter."""
    ways = ["leave longer texts out with training.max_length"] * (name == "training")
    ways += ["read their beginnings with text.max_input_length"] * (
        "max_input_length" in table.fields(type(recipe.text))
    )
    return " or ".join(["", *ways]).strip() or f"or shorten the texts of the {name}"


def _positions_setting(recipe):
    """The setting that says how many positions there are."""
    for slot, name in (("positions", "max_positions"), ("attention", "max_time")):
        layer = getattr(recipe, slot)
        if layer is not None and name in table.fields(type(layer)):
            return f"{slot}.{name}"
    return "model.context"


class Compiled(keras.Model):
    """`function(batch)`, which calls `model`; a model too, because `predict_on_batch` compiles on every backend."""

    def __init__(self, model, function):
        super().__init__()
        self.model, self.function = model, function
        self.built = True
        self.compile(jit_compile=True)

    def call(self, batch):
        return self.function(batch)


def compile_sums(model):
    """The compiled sums of a model that writes on, for each row of a batch; see `zoo.training.losses.row_sums`."""
    return Compiled(model, lambda batch: row_sums(batch["labels"], model(model_inputs(batch)), batch["weights"]))


def compile_answers(model):
    """The compiled outputs of a model."""
    return Compiled(model, lambda batch: model(model_inputs(batch)))


def compile_labels(model, whole=False):
    """The compiled likeliest labels of a model and their probabilities; if `whole`, the probabilities of all labels."""

    def label(batch):
        probabilities = ops.softmax(model(model_inputs(batch)), axis=-1)
        if whole:
            return (probabilities,)
        return ops.argmax(probabilities, axis=-1), ops.max(probabilities, axis=-1)

    return Compiled(model, label)


def rules_of(search, beams):
    """`{name: number}` of the rules that a recipe's table of the search turns on; a request may change them.

    Lists are left out, and so are the rules that rank hypotheses if there is only one beam.
    """
    names = OFF.keys() & {*search.__struct_fields__} - {*LISTS, *(RANKING if beams == 1 else ())}
    return {name: getattr(search, name) for name in names if getattr(search, name) != OFF[name]}


class Searcher(keras.Model):
    """(source_ids, source_lengths) -> (token_ids, lengths, scores) of the best hypothesis.

    It wraps the model as a model, because `predict_on_batch` compiles on every backend. `search`, the table of a
    recipe, has the rules and the ranking; without it there are no rules, and the ranking is `OURS`.
    """

    def __init__(self, model, beams, alpha, max_length, search=None):
        super().__init__()
        self.model, self.beams, self.alpha, self.max_length, self.search = model, beams, alpha, max_length, search
        self.built = True
        self.compile(jit_compile=True)

    def call(self, inputs):
        source_ids, source_lengths = inputs
        memory, rules, ranking = self.model.encode(source_ids, source_lengths), None, OURS
        if self.search is not None:
            rules = Rules(source_lengths, fixed=self.search.fixed, **rules_of(self.search, self.beams))
            ranking = self.search.ranking
        if self.beams == 1:
            hypotheses = greedy(self.model, memory, self.max_length, rules=rules)
        else:
            settings = {"rules": rules, "ranking": ranking}
            hypotheses = beam_search(self.model, memory, self.max_length, self.beams, self.alpha, **settings)
        return tuple(part[:, 0] for part in hypotheses)

    def confidences(self, lengths, scores):
        """The geometric mean of the probabilities of each output's tokens, its end among them: a list of floats."""
        kind, alpha = (self.search.ranking if self.search else OURS).penalty, self.alpha if self.beams > 1 else 0.0
        tokens = np.asarray(lengths, "float64") + 1
        return np.minimum(1.0, np.exp(mean_log_probability(scores, tokens, alpha, kind))).tolist()


def make_error_monitor(model, tokenizers, examples, search):
    """A function without arguments that returns {"wer"}, the share of wrong outputs of a greedy search, in per cent.

    An output is right if it is one of the answers to its input. The function searches with the weights that the model
    has when it is called, and compiles its programs only once.
    """
    searcher = Searcher(model, 1, 0.0, search.max_output_length, search)
    inputs, answers_of = examples[0], right_answers(*examples)

    def measure():
        outputs, _ = _search_texts(searcher, tokenizers, inputs)
        wrong = sum(output not in answers_of[text] for text, output in zip(inputs, outputs, strict=True))
        return {"wer": 100 * wrong / len(inputs)}

    return measure


def translate(run, sentences, **options):
    """The best output of each sentence, a list of strings; see `search`."""
    return search(run, sentences, **options)[0]


def search(run, sentences, *, beams=None, alpha=None, max_length=None, batch_size=32, progress=None):
    """The best output of each sentence, and how sure the model is of it.

    Args:
        run: of a task that writes, see `zoo.runs.open_run`.
        sentences: list of strings.
        beams, alpha, max_length: of the search; the recipe's by default.
        batch_size: sentences that are searched together.
        progress: called with the number of sentences done, after each batch.

    Returns:
        (a list of strings, a list of their confidences), in the order of `sentences`.
    """
    if beams is not None and beams < 1:  # here, because inside a model's call Keras would wrap the message
        raise ValueError(f"The beam width must be at least 1 (1 is greedy). Received: {beams}.")
    settings = run.recipe.search
    searcher = Searcher(
        run.model,
        settings.beam if beams is None else beams,
        settings.alpha if alpha is None else alpha,
        max_length or settings.max_output_length,
        settings,
    )
    return _search_texts(searcher, run.tokenizers, sentences, batch_size, progress)


def _search_texts(searcher, tokenizers, sentences, batch_size=32, progress=None):
    """(the outputs of sentences, their confidences), in the order of the sentences."""
    source_tokenizer, target_tokenizer = tokenizers
    sources = [source_tokenizer.around.put(ids) for ids in source_tokenizer.encode(sentences)]
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    outputs, most = {}, max_tokens(searcher.model)
    if most and order and len(sources[order[-1]]) > most:
        raise ValueError(
            f"a text has {len(sources[order[-1]])} tokens, and the model has positions for {most}. Leave out longer "
            f"texts, or train a model with more positions. The text: {sentences[order[-1]][:60]!r}"
        )
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        fill = [[EOS]] * (batch_size - len(rows))
        batch = [sources[row] for row in rows]
        length = min(-(-len(batch[-1]) // MULTIPLE) * MULTIPLE, most or math.inf)
        token_ids, *numbers = searcher.predict_on_batch(pad(batch + fill, length))
        lengths, scores = (np.asarray(each)[: len(rows)] for each in numbers)
        texts = target_tokenizer.decode([ids[:n] for ids, n in zip(token_ids, lengths, strict=False)])
        outputs.update(zip(rows, zip(texts, searcher.confidences(lengths, scores), strict=True), strict=True))
        if progress:
            progress(len(outputs))
    return [list(side) for side in zip(*(outputs[row] for row in range(len(sentences))), strict=True)] or [[], []]
