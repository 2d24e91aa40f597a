"""A run directory: what a training of a recipe leaves behind, and how one goes on."""

import dataclasses
import json
import os
import time
from pathlib import Path

import keras

from zoo.recipes.data import make_data
from zoo.recipes.files import dumps, load
from zoo.recipes.models import make_model
from zoo.recipes.optimisation import make_plan, make_training_steps
from zoo.recipes.slots import check_slots
from zoo.text import Tokenizer, sentence_ends, spelling_features
from zoo.training import (
    JUDGES,
    average,
    best_path,
    checkpoints,
    fit,
    load_weights,
    validate,
)

TOKENIZERS = ("source.spm", "target.spm")
LABELS = "labels.json"
MAY_CHANGE = {"steps", "patience", "checkpoint_every", "log_every", "description"}  # on resuming


def train(recipe, directory, data=None, resume=False):
    """Train a recipe in a run directory.

    The directory holds recipe.toml (every setting), source.spm, target.spm (of models that read one
    language and write another), labels.json (of those that label), checkpoint/, best/, metrics.csv,
    tensorboard/ and, in the end, model.keras (the best checkpoints averaged, or the best one if
    that does better on the validation split) and training.json (how it went).

    Args:
        recipe: the `Recipe`.
        directory: where the run lives; it must not hold one yet, unless `resume`.
        data: the directory of the corpus, unless it is generated.
        resume: continue the run that is there, or begin if there is none.

    Returns:
        The content of training.json.

    Raises:
        ValueError: the directory holds a run already, or one of another recipe; a slot's layer does not have a setting.
    """
    check_slots(recipe)
    directory = Path(directory)
    _claim(recipe, directory, resume)
    start = time.monotonic()
    parts = make_data(recipe, data)
    model = make_model(recipe, *parts.sizes)
    if recipe.spelling:
        model.embedding.set_features(*spelling_features(parts.tokenizers[0].pieces, model.embedding.buckets))
    if recipe.sentences:
        model.embedding.mark(sentence_ends(parts.tokenizers[0].pieces))
    steps = make_training_steps(recipe, model)
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / "recipe.toml", dumps(recipe))
    for name, tokenizer in zip(TOKENIZERS, parts.tokenizers, strict=False):
        tokenizer.save(directory / name)
    if parts.labels:
        _write(directory / LABELS, json.dumps(parts.labels, ensure_ascii=False) + "\n")

    plan = make_plan(recipe)
    progress = fit(steps, parts.train, parts.valid, plan, directory, resume)
    scores = _choose(steps, parts.valid, directory, progress, JUDGES[recipe.judge])
    save_model(model, directory / "model.keras")
    summary = {
        "recipe": recipe.name,
        "steps": progress.step,
        "valid": scores,
        "parameters": model.count_params(),
        "vocabularies": [tokenizer.vocab_size for tokenizer in parts.tokenizers],
        "labels": len(parts.labels),
        "shapes": [list(map(int, shape)) for shape in parts.train.shapes],
        "dropped": parts.train.dropped,
        "data_sha256": parts.digest,
        "training_seconds": round(progress.seconds, 1),
        "seconds": round(time.monotonic() - start, 1),
        "backend": keras.backend.backend(),
        "keras": keras.__version__,
    }
    _write(directory / "training.json", json.dumps(summary, indent=2) + "\n")
    return summary


def _write(path, text):
    checkpoints.write_atomically(path, lambda file: file.write(text.encode()))


def _claim(recipe, directory, resume):
    """Refuse to overwrite a run, or to continue one with other settings."""
    if not (directory / "recipe.toml").is_file():
        return
    if not resume:
        raise ValueError(
            f"{directory} holds a run already. Continue it with --resume, choose another --out, or remove it."
        )
    settings, stored = (dataclasses.asdict(each) for each in (recipe, load(directory / "recipe.toml")))
    changed = [
        f"{key} ({stored[key]!r} there, {value!r} here)"
        for key, value in settings.items()
        if stored[key] != value and key not in MAY_CHANGE
    ]
    if changed:
        raise ValueError(
            f"the run in {directory} was started with other settings: {', '.join(changed)}. "
            "Resume it with its own, or choose another --out."
        )


def _choose(steps, valid, directory, progress, loss):
    """Give the model its final weights, the average of the best or the best; returns their validation scores."""
    paths = [best_path(directory, step) for _, step in progress.best]
    average(paths, steps.model)
    steps.reload()
    scores = validate(steps.evaluate, valid) | {"averaged": len(paths)}
    best = next(row for row in progress.history if row["step"] == progress.best[0][1])
    if loss(best) < loss(scores):
        load_weights(paths[0], steps.model)
        return {key: value for key, value in best.items() if key != "step"} | {"averaged": 1}
    return scores


def save_model(model, path):
    """Write a `.keras` file; a crash leaves the old file or the new one."""
    beside = path.with_name(f".partial-{path.name}")
    model.save(beside)
    os.replace(beside, path)


def open_run(directory):
    """(recipe, model, source tokenizer, target tokenizer) of a finished run; see `open_labels` for the rest.

    The target tokenizer is None where the model has one vocabulary.

    Raises:
        ValueError: the directory holds no finished run.
    """
    directory = Path(directory)
    _demand(directory, "recipe.toml")
    recipe = load(directory / "recipe.toml")
    names = TOKENIZERS if recipe.model in ("seq2seq", "transformer") else TOKENIZERS[:1]
    _demand(directory, "model.keras", *names)
    model = keras.models.load_model(directory / "model.keras", compile=False)
    tokenizers = [Tokenizer.load(directory / name) for name in names]
    return recipe, model, *tokenizers, *[None] * (2 - len(tokenizers))


def open_labels(directory):
    """The names of the classes of a classifier's or tagger's run, by their ids; empty for other models.

    Raises:
        ValueError: the directory holds no run.
    """
    directory = Path(directory)
    _demand(directory, "recipe.toml")
    if load(directory / "recipe.toml").model not in ("classifier", "tagger"):
        return []
    _demand(directory, LABELS)
    return json.loads((directory / LABELS).read_text(encoding="utf-8"))


def _demand(directory, *names):
    missing = [name for name in names if not (directory / name).is_file()]
    if missing:
        raise ValueError(
            f"{directory} is not a finished run: it lacks {', '.join(missing)}. "
            "Train one with `seqzoo train`, or finish it with `seqzoo train --resume`."
        )
