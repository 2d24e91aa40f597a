"""The worst answers of a test set, by a measure that suits its scores, and the pairs of labels that are confused."""

from collections import Counter

import numpy as np

from zoo.scores.comparison import TASKS


def rank_mistakes(name, outputs, references, confidences=None, **options):
    """(the name of a measure, its value of each example, the numbers of the wrong examples, the worst one first).

    Labels are ordered by confidence, the surest of the wrong answers first; tags by how many are wrong; texts by the
    chrF of the sentence, or by edits where the answer is of no language; pieces of a running text by the nats of a
    character; similarities by how far the rank of a pair is from its right one, and partners by their rank. Equal ones
    follow by confidence.

    Args:
        name: of the scores, one of `zoo.scores.TASKS`.
        outputs: list of them; nats of a language model.
        references: list of them; characters of a language model.
        confidences: a list of the probability of each output, None where there is none.
        **options: of the scores.

    Example:
        >>> from zoo.scores.mistakes import rank_mistakes
        >>> measure, values, order = rank_mistakes("tagging", ["A B", "B B", "A B"], ["A B", "A A", "A A"])
        >>> measure, values.tolist(), order
        ('wrong_tags', [0, 2, 1], [1, 2])
    """
    certainty = np.array([-1.0 if each is None else each for each in confidences or [None] * len(outputs)])
    measure, values, badness, wrong = _MEASURES[name](outputs, references, options)
    order = np.lexsort((-certainty, -badness))  # stable: what is equal stays in the order of the examples
    return measure, values, [int(example) for example in order if wrong[example]]


def confused_pairs(outputs, references):
    """[{"reference", "answer", "count", "of"}] of labels that were taken for others, the most frequent first."""
    whole, pairs = Counter(references), Counter(zip(references, outputs, strict=True))
    confused = [
        {"reference": one, "answer": other, "count": count, "of": whole[one]}
        for (one, other), count in pairs.items()
        if one != other
    ]
    return sorted(confused, key=lambda pair: (-pair["count"], pair["reference"], pair["answer"]))


def _labels(outputs, references, options):
    wrong = np.array([one != other for one, other in zip(outputs, references, strict=True)])
    return None, None, np.zeros(len(wrong)), wrong


def _tags(outputs, references, options):
    pairs = ((one.split(" "), other.split(" ")) for one, other in zip(outputs, references, strict=True))
    counts = np.array([sum(a != b for a, b in zip(one, other, strict=True)) for one, other in pairs])
    return "wrong_tags", counts, counts, counts > 0


def _texts(outputs, references, options):
    if not options.get("language"):
        return _symbols(outputs, references, {"separator": ""})
    (score, exact) = TASKS["translation"](outputs, references, metrics=("chrf",), **options)
    values = score.value(score.statistics)
    return "chrf", values, -values, exact.statistics[:, 0] == 0


def _symbols(outputs, references, options):
    scores = {score.name: score for score in TASKS["transduction"](outputs, references, **options)}
    edits = scores["per"].statistics[:, 0].astype(int)
    return "edits", edits, edits, edits > 0


def _language_model(nats, characters, options):
    values = np.asarray(nats, "float64") / np.maximum(characters, 1)
    return "nats_per_character", values, values, np.ones(len(values), bool)


def _similarities(outputs, references, options):
    ranks = TASKS["similarity"](outputs, references)[0].statistics[:, 1:3]
    apart = np.abs(ranks[:, 0] - ranks[:, 1])
    return "ranks_apart", apart, apart, apart > 0


def _partners(outputs, references, options):
    ranks = np.array([int(each) for each in outputs])
    return "rank", ranks, ranks, ranks > 1


def _ratings(outputs, references, options):
    errors = TASKS["rating"](outputs, references)[0].statistics[:, 0]
    return "error", errors, errors, errors > 0


_MEASURES = {
    "classification": _labels,
    "out_of_scope": _labels,
    "tagging": _tags,
    "translation": _texts,
    "transduction": _symbols,
    "language_model": _language_model,
    "similarity": _similarities,
    "partners": _partners,
    "rating": _ratings,
}
