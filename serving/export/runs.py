"""From a finished run to its artefact: the settings of the export follow from the run's recipe."""

from collections.abc import Callable
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import zoo
from serving.export.measuring import READ, spread
from serving.export.pipeline import export
from serving.export.settings import Settings, Trial
from serving.export.shortlist import choose_shortlist, of_run
from zoo.core.searching import CHOICES, Fixed
from zoo.recipes import dumps, evaluations, last_split, read
from zoo.tasks.parts.answering import rules_of
from zoo.tasks.parts.task import Run

SCORED = (
    "accuracy",
    "exact_match",
    "bleu",
    "chrf",
    "entity_f1",
    "wer",
    "per",
    "out_of_scope_recall",
    "spearman",
    "mae",
)  # reported for int8


def export_run(
    run: Run | str | PathLike[str],
    out: str | PathLike[str] = "artefacts",
    version: int | None = None,
    *,
    data: Any = None,
    split: str | None = None,
    log: Callable[[str], object] = lambda stage: None,
    **changes: Any,
) -> Path:
    """Write `out/NAME/VERSION/` of a run and return its path; see `serving.export.export`.

    Args:
        run: a `Run` of `zoo.train` or `zoo.open`, or a run directory.
        out: the folder of all artefacts.
        version: a positive integer; None is one more than the newest version.
        data: the directory of the corpus, or a file of examples, on which int8 is scored; without it, int8 is compared
            on a few texts. The texts that validate give the ranges of int8 where they are found; else a few examples
            and random ids do.
        split: the part of the data to score it on; the test, or "valid" where there is none, by default.
        log: a function that is called with a line about each stage.
        **changes: settings of `serving.export.Settings` to choose instead, such as `name`, `beams`, `max_input`,
            `overlong` or `int8=False`. `shortlist` is a `Shortlist`, or its width, as 100: it is then estimated from
            the pairs of the training, which are in `data` unless the recipe names or makes them. An imported run that
            came with one keeps it.

    Raises:
        ValueError: the directory holds no finished run, or one of those of `serving.export.export`.
    """
    run = zoo.open(run)
    changes = of_run(run.directory) | changes | choose_shortlist(changes, run.recipe, run.tokenizers, data)
    changes = {"calibration": calibration(run.recipe, data)} | changes
    settings = settings_of(run, changes, trial(run.recipe, split, data) if data or split else None)
    return export(run.model, run.tokenizers, out, settings, version, log=log)


def settings_of(run, changes, trial=None):
    """The `Settings` of a run, from its recipe and the scores in its directory; `changes` go before them."""
    recipe, model, search = run.recipe, run.model, run.recipe.search
    writes_on = recipe.task == "continue"
    room = writes_on and model.longest_prompt and model.longest_text - model.longest_prompt
    own = {"name": recipe.name, "task": recipe.title, "labels": run.labels, "recipe": dumps(recipe), "trial": trial}
    if recipe.job.kind == "tagged":
        own["words"] = recipe.text.words
    if run.threshold is not None:
        own["scope"] = {"label": recipe.scope.label, "threshold": run.threshold}
    if search is not None:
        if writes_on and recipe.data.windows and not model.longest_text:
            # What is read and what is written fit together into the context of the training.
            own["max_input"] = max(2, recipe.model.context // 2, recipe.model.context - search.max_output_length)
            room = max(1, recipe.model.context - own["max_input"])
        longest = min(search.max_output_length, room or search.max_output_length)
        own |= {"beams": (1 if writes_on else search.beam,), "max_length": longest, "alpha": search.alpha}
        own["search"] = _search_choices(search)
        widest = max((own | changes)["beams"], default=1)
        changes = changes | {"rules": rules_of(search, widest) | changes.get("rules", {})}
    if recipe.task == "embed" and recipe.text.max_input_length:  # as its source reads long texts
        around = run.tokenizers[0].around.size  # which the recipe does not count
        own |= {"max_input": recipe.text.max_input_length + around, "overlong": "truncate"}
    own["scores"] = _read_scores(run.directory) if run.directory else {}
    return Settings(**{"texts": examples(run)} | own | changes)


def _search_choices(search):
    """What a recipe says of its search and a request cannot change, where it is not the default."""
    choices = {name: getattr(search, name) for name in (*CHOICES, *(each.name for each in fields(Fixed)))}
    return {name: value for name, value in choices.items() if value != getattr(type(search)(), name)}


def _read_scores(directory):
    """Those of the recipe's own whole test set, of some examples only none; and those of others, `elsewhere`."""
    scores = evaluations.read_scores(directory)
    return {key: scores[key] for key in scores if key == "elsewhere" or "limit" not in scores}


def examples(run, count=5):
    """Texts for the check of the text signature: from generated data if the task has it, else from the vocabulary."""
    if run.recipe.data.generated:
        return tuple(run.recipe.job.lines(read(run.recipe, "test")[0][:count]))
    tokenizer = run.tokenizers[0]
    words = range(4, tokenizer.vocab_size)
    texts = tokenizer.decode([list(words[start :: max(1, len(words) // 7)][:9]) for start in range(count)])
    if run.recipe.job.kind in ("compared", "scored"):
        texts = run.recipe.job.lines(zip(texts, [*texts[1:], texts[0]], strict=True))
    return tuple(texts)


def trial(recipe, split, directory):
    """The `Trial` of a split: its texts, their answers and the score. A running text is cut into prompts."""
    texts, answers = read(recipe, split or last_split(recipe, directory), directory)
    if recipe.task == "continue":
        return Trial(_prompts(recipe, texts[0]))

    def score_answers(received, _):
        scores = recipe.job.score(recipe, recipe.job.read_outputs(received), answers)
        return {name: scores[name] for name in SCORED if name in scores}

    lines = tuple(recipe.job.lines(texts))
    return Trial(lines, tuple(answers) * (len(lines) // len(answers)), score_answers)


def calibration(recipe, directory=None):
    """Texts that validate, for the ranges of int8 and for what is usual; none where they are not found."""
    try:
        texts, _ = read(recipe, "valid", directory)
    except ValueError:
        return ()
    return _prompts(recipe, texts[0]) if recipe.task == "continue" else tuple(recipe.job.lines(spread(texts, READ)))


def _prompts(recipe, whole):
    """Parts of a running text."""
    size = max(1, recipe.model.context // 2)
    return tuple(whole[start : start + size] for start in range(0, min(len(whole), 100 * size), size))
