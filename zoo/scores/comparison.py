"""Two systems on the same test set: which is better, whether by chance, and where they differ; and where one errs."""

from collections import Counter

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, check_pairs, influence_on_difference, paired_bootstrap, paired_bootstraps
from zoo.scores.confidence import out_of_scope_scores
from zoo.scores.labels import classification_scores, tagging_scores
from zoo.scores.language import language_model_scores
from zoo.scores.similarity import partner_scores, rating_scores, similarity_scores
from zoo.scores.texts import transduction_scores, translation_scores

TASKS = {
    "translation": translation_scores,
    "classification": classification_scores,
    "tagging": tagging_scores,
    "transduction": transduction_scores,
    "language_model": language_model_scores,
    "out_of_scope": out_of_scope_scores,
    "similarity": similarity_scores,
    "rating": rating_scores,
    "partners": partner_scores,
}
SHOWN = 20  # examples of the largest influence


def compare(task, outputs_a, outputs_b, references, groups=None, *, resamples=RESAMPLES, seed=0, **options):
    """The paired bootstrap of two systems.

    Args:
        task: one of `TASKS`.
        outputs_a: of the first system, as for the function that is named like the task; nats for "language_model".
        outputs_b: of the second system.
        references: the same for both; characters for "language_model". Of "out_of_scope" the outputs are those behind
            `zoo.scores.with_threshold`, for each system has a threshold of its own.
        groups: a dict of name -> numbers of the examples, such as those of a label or a range of lengths.
        resamples: of the bootstrap, drawn once for both systems.
        seed: of the bootstrap.
        **options: of the task, such as `language="de"`.

    Returns:
        A dict with `task`, `count`, `resamples`, and

        - `scores`: {NAME: {"a", "b", "difference" (b - a), "difference_interval" at 95 %, "p_value" (two-sided),
          "better": "a", "b" or ""}}, the leading one first;
        - `leading`: the name of the first of them;
        - `differ`: the examples that give most to the difference of the leading score, one way or the other, a list of
          {"example", "influence", "a", "b", "reference"}, see `zoo.scores.influence_on_difference`;
        - `by_group`, with groups: a list of {"group", "count", ...} and the keys of the leading score.

    Raises:
        ValueError: an unknown task, outputs that are not one for each reference, or no score that both have.

    Example:
        >>> from zoo.scores import compare
        >>> result = compare("classification", list("xxxxyyyy"), list("xyxyyyyy"), list("xyxyyxyy"))
        >>> result["scores"]["accuracy"]["difference"], result["scores"]["accuracy"]["better"]
        (25.0, 'b')
        >>> [row["example"] for row in result["differ"]]
        [1, 3]
    """
    if task not in TASKS:
        raise ValueError(f"Expected a task among {', '.join(TASKS)}; received {task!r}.")
    for outputs in (outputs_a, outputs_b):
        check_pairs(outputs, references)
    sides = [TASKS[task](outputs, references, **options) for outputs in (outputs_a, outputs_b)]
    sides = _select_shared(*sides)
    pairs = {first.name: (first, second) for first, second in zip(*sides, strict=True)}
    leading = next(iter(pairs))
    result = {
        "task": task,
        "count": len(references),
        "resamples": resamples,
        "leading": leading,
        "scores": dict(zip(pairs, paired_bootstraps(list(pairs.values()), resamples, seed), strict=True)),
        "differ": _largest_differences(pairs[leading], outputs_a, outputs_b, references),
    }
    if groups is not None:
        result["by_group"] = by_group(*pairs[leading], groups, resamples, seed)
    return result


def _select_shared(first, second):
    """The finite scores that both lists have: one system's tags may spell no entity."""
    undefined = {score.name: score.undefined for score in (*first, *second) if not np.isfinite(score.total)}
    shared = {score.name for score in first} & {score.name for score in second} - undefined.keys()
    if not shared:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in undefined.items())
        raise ValueError(
            f"There is no score that both systems have ({reasons}). Expected outputs that one can be made of."
        )
    return [[score for score in side if score.name in shared] for side in (first, second)]


def _largest_differences(pair, outputs_a, outputs_b, references):
    influence = influence_on_difference(*pair)
    size = np.abs(influence)
    size = np.round(size / (size.max() or 1), 9)  # so that rounding does not order examples that count the same
    order = np.argsort(-size, kind="stable")[:SHOWN]
    order = order[influence[order] != 0]
    return [
        {
            "example": int(example),
            "influence": float(influence[example]),
            "a": _plain_value(outputs_a[example]),
            "b": _plain_value(outputs_b[example]),
            "reference": _plain_value(references[example]),
        }
        for example in order
    ]


def _plain_value(value):
    """The value as a number or a text that JSON can write."""
    return value.item() if isinstance(value, np.generic) else value


def by_group(first, second, groups, resamples=RESAMPLES, seed=0):
    """The paired bootstrap of a score in each group of examples: a list of {"group", "count", "a", "b", ...}.

    Groups without a score are left out, such as those without any text out of scope.
    """
    rows = []
    for name, examples in groups.items():
        pair = [score.take(examples) for score in (first, second)] if len(examples) else []
        if pair and all(np.isfinite(score.total) for score in pair):
            rows.append({"group": name, "count": len(examples), **paired_bootstrap(*pair, resamples, seed)})
    return rows


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
        >>> from zoo.scores.comparison import rank_mistakes
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
