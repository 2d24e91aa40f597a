"""How a recipe is trained in its run folder, and how a run is opened; `zoo.recipes.start` has checked both."""

import json
import os
import sys
import time

import keras

from zoo.recipes.data import make_data
from zoo.recipes.files import dumps
from zoo.recipes.folder import LABELS, TOKENIZERS, tokenizer_names
from zoo.recipes.models import make_model
from zoo.recipes.optimisation import make_plan, make_training_steps
from zoo.text import Tokenizer, sentence_ends, spelling_features
from zoo.training import (
    MONITORS,
    average,
    best_path,
    checkpoints,
    fit,
    load_weights,
    validate,
)


def train(recipe, directory, data=None, resume=False, callbacks=(), log=None):
    """See `zoo.recipes.train`, which has checked what it is given."""
    start = time.monotonic()
    log = log or _print
    log("reading the data and learning the vocabularies")
    parts = make_data(recipe, data)
    for name, batches in (("training", parts.train), ("validation", parts.valid)):
        if getattr(batches, "cut", 0):
            log(f"{batches.cut:,} {name} texts are read up to max_input_length={recipe.max_input_length} tokens")
    log("building the model")
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
    state = fit(steps, parts.train, parts.valid, plan, directory, resume, callbacks)
    log("choosing between the best weights and their average")
    scores = _choose(steps, parts.valid, directory, state, MONITORS[recipe.monitor])
    save_model(model, directory / "model.keras")
    summary = {
        "recipe": recipe.name,
        "steps": state.step,
        "valid": scores,
        "parameters": model.count_params(),
        "vocabularies": [tokenizer.vocab_size for tokenizer in parts.tokenizers],
        "labels": len(parts.labels),
        "shapes": [list(map(int, shape)) for shape in parts.train.shapes],
        "dropped": parts.train.dropped,
        "cut": {"train": getattr(parts.train, "cut", 0), "valid": getattr(parts.valid, "cut", 0)},
        "data_sha256": parts.digest,
        "training_seconds": round(state.seconds, 1),
        "seconds": round(time.monotonic() - start, 1),
        "backend": keras.backend.backend(),
        "keras": keras.__version__,
    }
    _write(directory / "training.json", json.dumps(summary, indent=2) + "\n")
    return summary


def _print(line):
    print(line, file=sys.stderr, flush=True)


def _write(path, text):
    checkpoints.write_atomically(path, lambda file: file.write(text.encode()))


def _choose(steps, valid, directory, state, loss):
    """Give the model its final weights, the average of the best or the best; returns their validation scores."""
    paths = [best_path(directory, step) for _, step in state.best]
    average(paths, steps.model)
    steps.reload()
    scores = validate(steps.evaluate, valid) | {"averaged": len(paths)}
    best = next(row for row in state.history if row["step"] == state.best[0][1])
    if loss(best) < loss(scores):
        load_weights(paths[0], steps.model)
        return {key: value for key, value in best.items() if key != "step"} | {"averaged": 1}
    return scores


def save_model(model, path):
    """Write a `.keras` file; a crash leaves the old file or the new one."""
    beside = path.with_name(f".partial-{path.name}")
    model.save(beside)
    os.replace(beside, path)


def open_run(recipe, directory):
    """See `zoo.recipes.open_run`, which has checked what it is given."""
    model = keras.models.load_model(directory / "model.keras", compile=False)
    tokenizers = [Tokenizer.load(directory / name) for name in tokenizer_names(recipe)]
    return recipe, model, *tokenizers, *[None] * (2 - len(tokenizers))
