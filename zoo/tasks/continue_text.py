"""Language models: what comes next in a running text, or after a prompt."""

import itertools

import numpy as np

from zoo import scores as scoring
from zoo.data import Completions, Windows
from zoo.settings.data import Duplication, RunningFiles, RunningText
from zoo.settings.models import Transformer
from zoo.settings.slots import WRITES
from zoo.settings.text import Verbatim
from zoo.settings.training import Continuation, TokenLoss
from zoo.tasks.parts.task import Choice, Evaluation, Task, answering, building, zoo_models
from zoo.tasks.parts.vocabularies import bucket_plan, encode_verbatim, learn


class ContinueText(Task):
    """A running text, token by token; scored in nats per character."""

    name = "continue"
    kind = "running"
    data = (RunningFiles, RunningText, Duplication)
    text = Verbatim
    models = {"transformer": Choice(Transformer, WRITES, (TokenLoss,), Continuation)}

    def starter(self, examples, kind=None):
        """A small Transformer that writes characters."""
        sizes = {"units": 128, "num_layers": 4, "num_heads": 4, "hidden_units": 512, "context": 64, "dropout": 0.1}
        training = {"batch_size": 12, "learning_rate": 3e-3, "schedule": "cosine", "warmup": 100, "adam_beta_2": 0.99}
        return {
            "text": {"pieces": "char"},
            "model": {"kind": "transformer"} | sizes,
            "training": training | {"steps": 1_400, "validate_every": 350},
        }

    def tokenizers(self, recipe, inputs, answers):
        """The only one, which keeps texts as they are."""
        return (learn(recipe.text, recipe.text, inputs, verbatim=True),)

    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """Windows of a running text; or prompts with what follows them, where only that counts."""
        if recipe.data.windows:
            settings = recipe.training
            plan = {"batch_size": settings.batch_size, "seed": settings.seed, "shuffle": training}
            ids = encode_verbatim(tokenizers[0], examples[0][0])
            return Windows(ids, context=recipe.model.context, **plan)
        prompts, completions = map(tokenizers[0].encode, examples)
        prompts = [[*tokenizers[0].before, *ids] for ids in prompts]
        return Completions(prompts, completions, **bucket_plan(recipe, training))

    def model(self, recipe, *sizes):
        """A `LanguageModel`."""
        decoder = building.make_stack(recipe)
        positions = building.make_positions(recipe, decoder)
        options = {"embedding": building.make_embedding(recipe, *sizes, decoder)} | building.dropout_settings(recipe)
        return zoo_models.LanguageModel(*sizes, decoder, positions, **options)

    def evaluate(self, run, examples, *, beams=None, progress=None):
        """Mean negative log-likelihood of a text, cut into windows that each begin anew, or of answers to prompts."""
        model, (inputs, answers) = run.model, examples
        compiled, batches = answering.compile_sums(model), self.batches(run.recipe, run.tokenizers, (), examples)
        answering.check_lengths(run.recipe, model, {"data": batches})
        parts = []  # (place in the corpus, its sums, the ids that count) of each window or prompt
        for step, batch in enumerate(batches):
            sums = np.asarray(compiled.predict_on_batch(batch), "float64")
            rows = [ids[weights > 0].tolist() for ids, weights in zip(batch["labels"], batch["weights"], strict=True)]
            places = itertools.count(len(parts)) if run.recipe.data.windows else batches.examples(step)
            parts += [each for each in zip(places, sums, rows, strict=False) if each[2]]
            if progress:
                progress(step + 1, len(batches))
        _, sums, rows = zip(*sorted(parts, key=lambda each: each[0]), strict=True)
        characters, bytes = _text_lengths(run.tokenizers[0], list(rows), answers if any(answers) else inputs)
        nats, right, tokens = np.array(sums).T
        scores = scoring.language_model(nats, characters, bytes, tokens, right)
        lengths = {"nats": nats.tolist(), "characters": characters, "bytes": bytes}
        return Evaluation(scores | {"context": run.recipe.model.context}, [], inputs, answers, lengths)

    def choose_scoring(self, recipe, references):
        """Nats and bits, per character and byte; they need what `evaluate` measures."""
        return "language_model", {}

    def score(self, recipe, outputs, references):
        """A language model writes no answers that could be scored."""
        raise ValueError(
            f"{self.name} is scored by the probabilities of a model, not by outputs; received {len(outputs)} outputs. "
            "Use `evaluate`, or `assess` for those of an artefact."
        )

    def questions(self, recipe, runtime, examples):
        """Running text is cut into pieces that the artefact reads whole; together they are the text."""
        if not recipe.data.windows:
            return examples
        most = min(recipe.model.context, runtime.manifest.get("longest_text") or recipe.model.context)
        pieces = [piece for text in examples[0] for piece in _split_by_tokens(runtime, text, most)]
        return pieces, [""] * len(pieces)

    def respond(self, recipe, runtime, inputs, references):
        """{"nats", "tokens"} of each piece of a running text, or of each answer behind its prompt."""
        wholes = runtime.score([prompt + answer for prompt, answer in zip(inputs, references, strict=True)])
        prompts = [(0.0, 0)] * len(inputs) if recipe.data.windows else runtime.score(inputs)
        return [
            {"nats": round(prompt_log_likelihood - log_likelihood, 6), "tokens": tokens - prompt_tokens}
            for (log_likelihood, tokens), (prompt_log_likelihood, prompt_tokens) in zip(wholes, prompts, strict=True)
        ]

    def assess(self, recipe, inputs, outputs, references):
        """The scores that follow from the probabilities of the pieces, or of the answers."""
        texts = inputs if recipe.data.windows else references
        counts = {"nats": [each["nats"] for each in outputs]}
        counts |= {"characters": [len(text) for text in texts], "bytes": [len(text.encode()) for text in texts]}
        scores = scoring.language_model(**counts, tokens=[each["tokens"] for each in outputs])
        if recipe.data.windows:  # the test set is the text, however it was cut
            inputs, references = ["".join(inputs)], [""]
        return Evaluation(scores | {"context": recipe.model.context}, [], inputs, references, counts)


def _split_by_tokens(runtime, text, most):
    """Pieces of a text of at most `most` tokens each; from the second on they have nearly as many."""
    start, size = 0, most
    while start < len(text):
        piece = text[start : start + size]
        while (count := len(runtime.encode([piece])[0])) > most and len(piece) > 1:
            piece = piece[: min(len(piece) - 1, len(piece) * most // count)]
        yield piece
        start, size = start + len(piece), max(1, len(piece) * most // max(1, count))


def _text_lengths(tokenizer, rows, texts):
    """(characters, bytes) of each row of token ids; their sums are those of the texts.

    The bytes of a character may be in two rows, which decode to other characters than the text has: so the lengths are
    scaled to the totals of the texts.
    """
    lengths = [[len(each), len(each.encode(errors="replace"))] for each in tokenizer.decode(rows)]
    totals = [sum(map(len, texts)), sum(len(each.encode()) for each in texts)]
    columns = zip(zip(*lengths, strict=True), totals, strict=True)
    return [[number * total / max(1, sum(column)) for number in column] for column, total in columns]


TASK = ContinueText()
