"""Symbols to symbols: letters to phones, spellings to spellings, one string form to another."""

from zoo.settings.data import Dates, Files, Parallel, Reversal
from zoo.tasks.parts.vocabularies import decompose, right_answers, usual_length
from zoo.tasks.translate import Translate

FEW = 1_000  # examples up to which additive attention and less dropout learn more, see docs/benchmarks.md


class Transduce(Translate):
    """Strings to strings, symbol by symbol; scored by the share of wrong outputs (WER) and of wrong symbols (PER)."""

    name = "transduce"
    data = (Files, Parallel, Dates, Reversal)
    between_languages = False

    def starter(self, examples, kind=None):
        """A recurrent model that reads characters, and writes characters or what spaces set apart.

        Where there are few examples, its attention is additive, as the one of `translate`, and its dropout smaller.
        """
        dropout, attention = (0.2, "additive") if len(examples) <= FEW else (0.3, "dot")
        spaced = sum(" " in answer for answer in examples.answers) * 2 > len(examples)
        most = usual_length(examples.answers, str.split if spaced else list)
        pieces = {"pieces": "word", "normalization": "identity"} if spaced else {"pieces": "char"}
        return {
            "text": {"pieces": "char", "normalization": "nfd", "target": pieces},
            "model": {"kind": "recurrent", "cell": "gru", "units": 128, "dropout": dropout},
            "attention": {"layer": attention},
            "loss": {"label_smoothing": 0.1},
            "training": {
                "batch_size": 32,
                "num_buckets": 2,
                "max_length": max(most, usual_length(examples.inputs, decompose)) + 4,
                "learning_rate": 3e-3,
                "schedule": "cosine",
                "adam_beta_2": 0.98,
                "average": 5,
                "monitor": "wer",
            },
            "search": {"beam": 4, "max_output_length": 2 * most + 4},
        }

    def reasons(self, examples):
        """Why few examples are learnt by another attention."""
        few = f"{len(examples):,} examples are few: additive attention and a dropout of 0.2 learn more from them"
        return [few] if len(examples) <= FEW else []

    def inputs_and_answers(self, examples):
        """(inputs, answers). An input with several right answers occurs once, and its answer is their list."""
        answers_of, inputs, answers, done = right_answers(examples.inputs, examples.answers), [], [], set()
        for text, answer in zip(examples.inputs, examples.answers, strict=True):
            several = len(answers_of[text]) > 1
            if several and text in done:
                continue
            done.add(text)
            inputs.append(text)
            answers.append(list(answers_of[text]) if several else answer)
        return inputs, answers

    def assess(self, recipe, inputs, outputs, references):
        """The scores of outputs; of several right answers the nearest counts, and inputs with several are counted."""
        evaluation = super().assess(recipe, inputs, outputs, references)
        several = sum(isinstance(each, list) for each in references)
        return evaluation._replace(scores=evaluation.scores | {"several_answers": several}) if several else evaluation

    def choose_scoring(self, recipe, references):
        """WER, and PER over the symbols of the target: what spaces set apart, or characters."""
        spaced = recipe.text.answers.pieces == "word" and not recipe.text.shared
        return "transduction", {"separator": " " if spaced else ""}

    def lengths(self, recipe, inputs):
        """Symbols of the sources: what spaces set apart, or characters."""
        return [len(text.split() if recipe.text.pieces == "word" else text) for text in inputs]


TASK = Transduce()
