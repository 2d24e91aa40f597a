"""How a training begins and how a run is opened: everything is checked before Keras is imported."""

import contextlib
import dataclasses
from pathlib import Path

from zoo.core import devices as many
from zoo.core.later import later
from zoo.core.storage import one_writer
from zoo.recipes.card import find_learnt, say_rules_off
from zoo.recipes.checkpoint import check_checkpoint
from zoo.recipes.folder import check_ensemble, check_run, check_unchanged, claim, resolve_initial
from zoo.recipes.recipe import check_data
from zoo.tasks.parts import corpora

callbacks_of_keras = later("zoo.training.callbacks")
training = later("zoo.runs.training")


def train(recipe, directory, data=None, resume=False, callbacks=(), log=None, devices=None):
    """Train a recipe in a run directory.

    The directory holds recipe.toml (every setting), source.spm, target.spm (of models that read one language and write
    another), labels.json (of those that label), data.json (the data card), checkpoint/, metrics.csv,
    tensorboard/ and, in the end, model.keras (the best weights averaged, or the best ones if they do better on the
    validation split) and training.json (how it went); with `training.init` init.json says what was taken over.

    Args:
        recipe: the `Recipe`.
        directory: where the run lives; it must not hold one yet, unless `resume`.
        data: the directory of the corpus, unless it is generated or the recipe names its files; or a file of examples
            to train on instead of `data.train`.
        resume: continue the run that is there, or begin if there is none; or the path of a checkpoint, which may come
            from another machine, in a directory without a run.
        callbacks: `keras.callbacks.Callback`s, as of `zoo.training.fit`.
        log: called with a line before what may take long; None prints to standard error. `fit` reports the rest.
        devices: on how many devices, a number or "all", see `zoo.core.devices`; None is one.

    Returns:
        The content of training.json.

    Raises:
        BusyError: another process trains, evaluates or exports in the directory.
        ValueError: the directory holds a run already, or one of another recipe; files of the corpus, or a library that
            its scores need, are missing; the run began with other examples; `training.init`, `freeze` or `rates` do not
            fit the model; the checkpoint is damaged, or the file is none; or something else than callbacks is given.
    """
    many.check_backend()
    if recipe.job.init_needed and (recipe.loss.tag == "none" or not recipe.training.init):
        raise ValueError(f"recipe {recipe.name}: {recipe.job.init_needed}")
    directory, earlier = Path(directory), resume if isinstance(resume, Path) else Path(directory)
    if isinstance(resume, Path):
        check_checkpoint(resume)
    if callbacks != ():
        callbacks_of_keras.check_callbacks(callbacks)
    recipe, data = corpora.training_data(recipe, data)
    recipe, initial = resolve_initial(recipe)
    many.check(devices, recipe.training.batch_size, recipe.training.model_parallel)
    if many.leads():
        claim(recipe, directory, resume)
    check_unchanged(initial, earlier)
    check_data(recipe, ("train", "valid"), data)
    with one_writer(directory) if many.leads() else contextlib.nullcontext():
        if many.leads():
            claim(recipe, directory, resume)  # once more: another training may have begun, and ended, meanwhile
        return training.train(recipe, directory, data, resume, callbacks, log, initial, devices)


def open_run(directory, *others):
    """The `zoo.tasks.parts.task.Run` of a finished run's directory.

    Args:
        directory: of the run.
        *others: of further runs of the same recipe, such as those of other seeds: the model is then their
            `zoo.models.Ensemble`.

    Raises:
        ValueError: a directory holds no finished run, or runs do not fit each other.
    """
    many.check_backend()
    directories = [Path(each) for each in (directory, *others)]
    recipes = [check_run(each) for each in directories]
    if others:
        check_ensemble(directories, recipes)
    runs = [training.open_run(recipe, each) for recipe, each in zip(recipes, directories, strict=True)]
    if others:
        return training.make_ensemble(runs)  # without a directory: the files of one belong to a single run
    return dataclasses.replace(runs[0], directory=directories[0])


def evaluate(run, split, directory=None, **options):
    """A dict of scores and a list of outputs, see `evaluation`; no outputs of a language model."""
    return evaluation(run, split, directory, **options)[:2]


def evaluation(run, split, directory=None, *, beams=None, limit=None, progress=None, log=None):
    """What a run answers to a split, and how good that is.

    Args:
        run: see `open_run`.
        split: of the recipe's data.
        directory: of the data, unless they are generated.
        beams: width of the search of a model that writes; the recipe's by default.
        limit: only the first so many examples; of a running text, characters.
        progress: called with the number of examples done and their total.
        log: called with a line for each kind of examples that were left out or changed.

    Returns:
        A `zoo.tasks.parts.task.Evaluation`: the scores, and the outputs, inputs and references that they compare.

    Raises:
        ValueError: the limit is below 1, or the data are not as they should be.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be a number of examples, at least 1, or None for all; received {limit!r}.")
    job = run.recipe.job
    examples = job.mend_labels(run.recipe, job.examples(run.recipe, split, directory), run.labels)
    for note in [*say_rules_off(run.recipe.data), *(f"{split}: {note}" for note in examples.notes)] if log else ():
        log(note)
    learnt, notes = {}, []
    if run.directory and corpora.replaces_files(run.recipe, directory):
        learnt, notes = find_learnt(check_run(run.directory), examples.take(range(len(examples))[:limit]))
    for note in notes if log else ():
        log(note)
    inputs, answers = job.inputs_and_answers(examples)
    limited = ([inputs[0][:limit]], answers) if run.recipe.data.windows else (inputs[:limit], answers[:limit])
    found = job.evaluate(run, limited, beams=beams, progress=progress)
    places = None if run.recipe.data.windows else _places(examples, limited[0])
    return found._replace(scores=found.scores | learnt, places=places)


def _places(examples, inputs):
    """`FILE:LINE` of each of the inputs; None where the examples are of no file. An input that stands at several places
    and is asked once is at the first."""
    if not examples.places:
        return None
    rows = range(len(inputs))
    if any(text != asked for text, asked in zip(examples.inputs, inputs, strict=False)):
        first = {text: row for row, text in reversed([*enumerate(examples.inputs)])}
        rows = [first[text] for text in inputs]
    return [examples.where(row) for row in rows]
