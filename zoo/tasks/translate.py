"""Translation, and everything else that reads one text and writes another."""

from zoo import scores as scoring
from zoo.data import Batches
from zoo.settings.data import Dates, Files, Parallel, Reversal
from zoo.settings.models import RecurrentWriter, Transformer
from zoo.settings.slots import RECURRENT, TRANSLATES
from zoo.settings.text import TwoSided
from zoo.settings.training import DepthLoss, LabelLoss, Search, TokenLoss
from zoo.tasks.parts.task import Choice, Evaluation, Task, answering, building
from zoo.tasks.parts.vocabularies import bucket_plan, join_pieces, learn, usual_length

FEW = 5_000  # pairs that are too few for a Transformer
LONG = 12  # letters a word: a text with more on average is written without spaces


class Translate(Task):
    """Texts to texts, by a recurrent encoder and decoder or a Transformer; scored by BLEU, chrF and TER."""

    name = "translate"
    kind = "pairs"
    data = (Files, Parallel, Dates, Reversal)
    text = TwoSided
    models = {
        "recurrent": Choice(RecurrentWriter, RECURRENT, (LabelLoss,), Search),
        "transformer": Choice(Transformer, TRANSLATES, (TokenLoss, DepthLoss), Search),
    }
    sides = ("source", "target")
    between_languages = True

    def starter(self, examples, kind=None):
        """A small Transformer; of a few thousand pairs a recurrent model learns more."""
        kind = kind or ("recurrent" if len(examples) < FEW else "transformer")
        # The subwords of a small corpus are hardly more than its letters.
        cut = list if len(examples) < FEW else _subwords
        most = usual_length(examples.inputs + examples.answers, cut) + 10
        search = {"beam": 4, "max_output_length": most}
        if kind == "recurrent":
            model = {"kind": "recurrent", "cell": "gru", "units": 128, "dropout": 0.2}
            training = {"batch_size": 32, "learning_rate": 4e-3, "schedule": "cosine", "max_length": most}
            return {"model": model, "attention": {"layer": "additive"}, "training": training, "search": search}
        model = {"kind": "transformer", "units": 128, "num_layers": 2, "num_heads": 4, "hidden_units": 512}
        training = {"batch_size": 32, "learning_rate": 2e-3, "schedule": "linear", "adam_beta_2": 0.98, "average": 3}
        return {
            "model": model | {"dropout": 0.1},
            "loss": {"label_smoothing": 0.1},
            "training": training | {"max_length": most},
            "search": search,
        }

    def check(self, recipe):
        """Refuse a coverage penalty if the model does not give its attention, and a BLEU that lacks its tokeniser."""
        no_weights = not recipe.depth.may("weighs") if recipe.depth else recipe.attention.layer == "none"
        if recipe.search.coverage_penalty and no_weights:
            where = f"depth={recipe.depth.layer!r}" if recipe.depth else "attention='none'"
            raise ValueError(
                "search.coverage_penalty needs the attention of each step over the source, which a model with "
                f"{where} does not give. Leave it out, or take a recurrent model with attention, or depth='stack'."
            )
        name, options = self.choose_scoring(recipe, [])
        if name == "translation":
            scoring.check_language(**options)

    def texts(self, inputs, answers):
        """Those of the sources, and those of the targets."""
        return inputs, answers

    def tokenizers(self, recipe, inputs, answers):
        """(source, target); a shared vocabulary is one tokenizer on both sides."""
        text = recipe.text
        if text.shared:
            return (learn(text, text, inputs + answers),) * 2
        return learn(text, text, inputs), learn(text.answers, text, answers)

    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """Teacher-forcing batches of the pairs."""
        encoded = (each.encode(side) for each, side in zip(tokenizers, examples, strict=True))
        around = tuple(each.around for each in tokenizers)
        return Batches(*encoded, around=around, **bucket_plan(recipe, training))

    def model(self, recipe, *sizes):
        """`Seq2Seq`, `Transformer` or `DepthAdaptiveTransformer`."""
        return building.make_writer(recipe, *sizes)

    def make_monitor(self, recipe, model, tokenizers, labels, examples):
        """The share of wrong outputs, if that is what decides."""
        if recipe.training.monitor != "wer":
            return None
        return answering.make_error_monitor(model, tokenizers, examples, recipe.search)

    def evaluate(self, run, examples, *, beams=None, progress=None):
        """The scores of the best outputs, over all and by the length of the source."""
        recipe, (inputs, references) = run.recipe, examples
        report = progress and (lambda done: progress(done, len(inputs)))
        outputs, confidences = answering.search(run, inputs, beams=beams, progress=report)
        evaluation = self.assess(recipe, inputs, outputs, references)
        settings = {"beam": beams or recipe.search.beam, "alpha": recipe.search.alpha}
        return evaluation._replace(scores=settings | evaluation.scores, confidences=confidences)

    def assess(self, recipe, inputs, outputs, references):
        """The scores of outputs, over all and by the length of the source; pieces are joined."""
        inputs, outputs, references = (join_pieces(side, recipe.text.joiner) for side in (inputs, outputs, references))
        name, options = self.choose_scoring(recipe, references)
        task_scores = scoring.TASKS[name](outputs, references, **options)
        scores = {"count": len(references), "sentences": len(references), **scoring.report(task_scores)}
        scores["by_length"] = scoring.by_length(task_scores, self.lengths(recipe, inputs))
        return Evaluation(scores, outputs, inputs, references)

    def choose_scoring(self, recipe, references):
        """BLEU, chrF and TER where the target is a language, and exact match."""
        return "translation", {"language": recipe.languages[1], "tokenized": bool(recipe.text.joiner)}

    def score(self, recipe, outputs, references):
        """The scores of outputs, whose pieces are joined where the files hold pieces."""
        return super().score(recipe, *(join_pieces(side, recipe.text.joiner) for side in (outputs, references)))

    def lengths(self, recipe, inputs):
        """Words of the sources, or characters where words are not set apart."""
        return [scoring.source_length(text, recipe.languages[0]) for text in inputs]


def _subwords(text):
    """As many items as a text has subwords at most: two a word and one for two letters, or, without spaces, letters."""
    words = text.split()
    return text if len(text) > LONG * len(words) else max(2 * words, list(text[::2]), key=len)


TASK = Translate()
