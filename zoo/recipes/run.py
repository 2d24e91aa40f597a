"""A run directory: what a training of a recipe leaves behind, and how one goes on."""

import dataclasses
import json
import os
import time
from pathlib import Path

import keras

from zoo.recipes import build
from zoo.recipes.recipe import dumps, load
from zoo.text.tokenizer import Tokenizer
from zoo.training import (
    average,
    best_path,
    checkpoints,
    fit,
    load_weights,
    make_steps,
    validate,
)

MAY_CHANGE = {"steps", "patience", "checkpoint_every", "log_every", "description"}  # on resuming


def train(recipe, directory, data=None, resume=False):
    """Train a recipe in a run directory.

    The directory holds recipe.toml (every setting), source.spm, target.spm, checkpoint/, best/,
    metrics.csv, tensorboard/ and, in the end, model.keras (the best checkpoints averaged, or the
    best one if that has the lower validation loss) and training.json (how it went).

    Args:
        recipe: the `Recipe`.
        directory: where the run lives; it must not hold one yet, unless `resume`.
        data: the directory of a parallel corpus.
        resume: continue the run that is there, or begin if there is none.

    Returns:
        The content of training.json.

    Raises:
        ValueError: the directory holds a run already, or one of another recipe.
    """
    directory = Path(directory)
    _claim(recipe, directory, resume)
    start = time.monotonic()
    parts = build.make_data(recipe, data)
    vocabularies = parts.source_tokenizer.vocab_size, parts.target_tokenizer.vocab_size
    model = build.make_model(recipe, *vocabularies)
    steps = make_steps(model, build.make_optimizer(recipe), build.make_loss(recipe))
    directory.mkdir(parents=True, exist_ok=True)
    checkpoints.write_atomically(directory / "recipe.toml", lambda file: file.write(dumps(recipe).encode()))
    parts.source_tokenizer.save(directory / "source.spm")
    parts.target_tokenizer.save(directory / "target.spm")

    plan = build.make_plan(recipe)
    progress = fit(steps, parts.train, parts.valid, plan, directory, resume)
    scores = _choose(steps, parts.valid, directory, progress)
    save_model(model, directory / "model.keras")
    summary = {
        "recipe": recipe.name,
        "steps": progress.step,
        "valid": scores,
        "parameters": model.count_params(),
        "vocabularies": list(vocabularies),
        "shapes": [list(map(int, shape)) for shape in parts.train.shapes],
        "dropped": parts.train.dropped,
        "data_sha256": parts.digest,
        "training_seconds": round(progress.seconds, 1),
        "seconds": round(time.monotonic() - start, 1),
        "backend": keras.backend.backend(),
        "keras": keras.__version__,
    }
    text = json.dumps(summary, indent=2) + "\n"
    checkpoints.write_atomically(directory / "training.json", lambda file: file.write(text.encode()))
    return summary


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


def _choose(steps, valid, directory, progress):
    """Give the model its final weights; returns their validation scores."""
    paths = [best_path(directory, step) for _, step in progress.best]
    average(paths, steps.model)
    steps.reload()
    scores = validate(steps.evaluate, valid) | {"averaged": len(paths)}
    best = next(row for row in progress.history if row["step"] == progress.best[0][1])
    if best["nll"] < scores["nll"]:
        load_weights(paths[0], steps.model)
        return {key: value for key, value in best.items() if key != "step"} | {"averaged": 1}
    return scores


def save_model(model, path):
    """Write a `.keras` file; a crash leaves the old file or the new one."""
    beside = path.with_name(f".partial-{path.name}")
    model.save(beside)
    os.replace(beside, path)


def open_run(directory):
    """(recipe, model, source tokenizer, target tokenizer) of a finished run.

    Raises:
        ValueError: the directory holds no finished run.
    """
    directory = Path(directory)
    files = ("recipe.toml", "model.keras", "source.spm", "target.spm")
    missing = [name for name in files if not (directory / name).is_file()]
    if missing:
        raise ValueError(
            f"{directory} is not a finished run: it lacks {', '.join(missing)}. "
            "Train one with `seqzoo train`, or finish it with `seqzoo train --resume`."
        )
    recipe = load(directory / "recipe.toml")
    model = keras.models.load_model(directory / "model.keras", compile=False)
    tokenizers = (Tokenizer.load(directory / name) for name in files[2:])
    return recipe, model, *tokenizers
