"""Two systems on the same test set: which is better, whether chance explains it, and where they differ."""

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, check_pairs, influence_on_difference, paired_bootstrap, paired_bootstraps
from zoo.scores.edits import transduction_scores
from zoo.scores.entities import tagging_scores
from zoo.scores.labels import classification_scores
from zoo.scores.language import language_model_scores
from zoo.scores.scope import out_of_scope_scores
from zoo.scores.similarity import partner_scores, rating_scores, similarity_scores
from zoo.scores.texts import translation_scores

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
