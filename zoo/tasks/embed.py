"""A vector for a text: search by meaning, near duplicates, clusters. Scored on pairs of texts with a number each."""

import numpy as np

from zoo.data import LabelledBatches, PairBatches, PartnerBatches
from zoo.data.formats import Examples
from zoo.scores import cosines, partner_ranks, similarity
from zoo.settings.data import Files
from zoo.settings.models import Encoding
from zoo.settings.slots import READS
from zoo.settings.text import Read
from zoo.settings.training import CosineLoss, NoLoss, RankingLoss
from zoo.tasks.parts.task import Choice, Evaluation, Run, Task, answering, building, zoo_models
from zoo.tasks.parts.vocabularies import bucket_plan, cut_texts

BATCH_SIZE = 64  # of texts that are read together
SIMILARITY, DIGITS = "similarity", 6  # the key of the cosine in an artefact's answer, and its number of decimals
RANK, PARTNER = "rank", "1"  # the key of the rank of a pair's second text among all of them; the rank of a partner


class Embed(Task):
    """A text to a vector, by an `Encoder`; scored by the rank correlation of cosines with people's numbers.

    A network that begins with weights is trained on such pairs: cosines approach their numbers, scaled to 0 to 1. With
    `loss.kind = "ranking"` pairs have no number and belong together: each text learns to find its partner in its batch,
    and the score is how often it finds it among all.
    """

    name = "embed"
    kind, other_kind = "scored", "pairs"
    data = (Files,)
    text = Read
    models = {"transformer": Choice(Encoding, READS, (NoLoss, CosineLoss, RankingLoss))}
    init_needed = (
        'The task embed begins with a network that has learnt to read elsewhere, and with loss.kind = "cosine" or '
        '"ranking". '
        "Import one, such as a sentence encoder (`seqzoo import`), and write the recipe with `seqzoo new embed PAIRS "
        "--from RUN`."
    )

    def starter(self, examples, kind=None):
        """The range of the numbers, or a ranking where there are none; a network to begin with gives all else."""
        if examples.kind == self.other_kind:
            return {"loss": {"kind": "ranking"}, "training": {"batch_size": 32, "monitor": "accuracy"}}
        numbers = sorted(map(float, examples.answers))
        return {
            "loss": {"kind": "cosine", "lowest": numbers[0], "highest": numbers[-1]},
            "training": {"batch_size": 32, "monitor": "spearman"},
        }

    def notes(self, examples):
        """What pairs without numbers are trained for."""
        return ["pairs without numbers: each text learns to find its partner"] * (examples.kind == self.other_kind)

    def kind_of(self, recipe):
        """Plain pairs, if they have no numbers."""
        return self.other_kind if _is_ranking(recipe) else self.kind

    def examples(self, recipe, split, directory=None, train_examples=None):
        """Those of the split; pairs that belong together have the number 1."""
        examples = super().examples(recipe, split, directory, train_examples)
        if not _is_ranking(recipe):
            return examples
        pairs = list(zip(examples.inputs, examples.answers, strict=True))
        return Examples(self.kind, pairs, [PARTNER] * len(pairs), examples.files, examples.places, examples.notes)

    def texts(self, inputs, answers):
        """Those of both sides."""
        return (self.lines(inputs),)

    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """Pairs of texts, and their numbers as cosines from 0 to 1, or who is whose partner."""
        sides = [self._encode(recipe, tokenizers[0], list(side)) for side in zip(*examples[0], strict=True)]
        loss = recipe.loss if isinstance(recipe.loss, CosineLoss) else CosineLoss()
        targets = [(float(each) - loss.lowest) / (loss.highest - loss.lowest) for each in examples[1]]
        pairs = list(zip(*(words for words, _ in sides), strict=True))
        kind, target = (PartnerBatches, recipe.loss.scale) if _is_ranking(recipe) else (PairBatches, targets)
        batches = kind(pairs, target, around=tokenizers[0].around, **bucket_plan(recipe, training))
        batches.cut = sum(cut for _, cut in sides)
        return batches

    def _encode(self, recipe, tokenizer, texts):
        """(the token ids of each text, how many texts `max_input_length` cut)."""
        return cut_texts([[ids] for ids in tokenizer.encode(texts)], recipe.text.max_input_length)

    def model(self, recipe, *sizes):
        """An `Encoder`."""

        def make(vocab_size, num_labels, *parts, **settings):
            return zoo_models.Encoder(vocab_size, *parts, normalize=recipe.model.normalize, **settings)

        return building.make_reader(make, recipe, *sizes, None)

    def make_monitor(self, recipe, model, tokenizers, labels, examples):
        """The rank correlation, if that is what decides."""
        if recipe.training.monitor != "spearman":
            return None
        (inputs, answers), compiled = examples, answering.compile_answers(model)
        run = Run(recipe, model, tokenizers)

        def score():
            vectors, _ = self.predict(run, self.lines(inputs), compiled=compiled)
            return {"spearman": similarity(cosines(vectors[::2], vectors[1::2]), answers, resamples=1)["spearman"]}

        return score

    def predict(self, run, texts, progress=None, compiled=None):
        """(the vectors of the texts, `(texts, units)` float32; how many texts were cut)."""
        words, cut = self._encode(run.recipe, run.tokenizers[0], list(texts))
        plan = {"around": run.tokenizers[0].around, "batch_size": BATCH_SIZE, "shuffle": False}
        batches = LabelledBatches(words, [0] * len(words), **plan)
        answering.check_lengths(run.recipe, run.model, {"data": batches})
        encoder = compiled or answering.compile_answers(run.model)
        vectors, done = np.zeros((len(texts), run.model.units), "float32"), 0
        for step, batch in enumerate(batches):
            rows = list(batches.examples(step))
            vectors[rows] = np.asarray(encoder.predict_on_batch(batch))[: len(rows)]
            done += len(rows)
            if progress:
                progress(done)
        return vectors, cut

    def evaluate(self, run, examples, *, beams=None, progress=None):
        """The scores of the cosines of pairs."""
        inputs, answers = examples
        vectors, cut = self.predict(run, self.lines(inputs), progress and (lambda n: progress(n // 2, len(inputs))))
        evaluation = self.assess(run.recipe, inputs, self.read_outputs(vectors), answers)
        return evaluation._replace(scores=evaluation.scores | {"cut": cut})

    def lines(self, inputs):
        """The texts of both sides, the second of a pair behind its first."""
        return [text for pair in inputs for text in pair]

    def read_outputs(self, answers):
        """The cosine of each pair of vectors, 0 if a text was refused and has no vector, and the rank of the second."""
        first, second = answers[::2], answers[1::2]
        rows = zip(cosines(first, second), partner_ranks(first, second), strict=True)
        return [{SIMILARITY: round(float(cosine), DIGITS), RANK: rank} for cosine, rank in rows]

    def score(self, recipe, outputs, references):
        """Rank correlation, and Pearson's; or how often a text finds its partner."""
        return super().score(
            recipe, [each[RANK if _is_ranking(recipe) else SIMILARITY] for each in outputs], references
        )

    def choose_scoring(self, recipe, references):
        """Spearman's and Pearson's correlation; or the ranks of partners."""
        return ("partners" if _is_ranking(recipe) else "similarity"), {}

    def assess(self, recipe, inputs, outputs, references):
        """The `Evaluation`, whose outputs are the cosines in digits, or the ranks of partners."""
        texts = [str(each[RANK]) if _is_ranking(recipe) else f"{each[SIMILARITY]:.{DIGITS}f}" for each in outputs]
        return Evaluation(self.score(recipe, outputs, references), texts, inputs, references)


def _is_ranking(recipe):
    """Whether pairs have no numbers, and belong together."""
    return isinstance(recipe.loss, RankingLoss)


TASK = Embed()
