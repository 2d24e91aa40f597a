"""How a training begins and how a run is opened: what is wrong is told first, and then Keras is imported."""

from pathlib import Path

from zoo.recipes.corpora import check_data
from zoo.recipes.folder import check_run, claim


def train(recipe, directory, data=None, resume=False, callbacks=(), log=None):
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
        callbacks: `keras.callbacks.Callback`s, as of `zoo.training.fit`.
        log: called with a line before what may take long; None prints to standard error. `fit` tells the rest.

    Returns:
        The content of training.json.

    Raises:
        ValueError: the directory holds a run already, or one of another recipe; files of the corpus are missing; the
            steps end within the warm-up.
    """
    directory = Path(directory)
    if recipe.schedule in ("linear", "cosine") and recipe.steps <= recipe.warmup:
        raise ValueError(
            f"recipe {recipe.name!r}: a {recipe.schedule} schedule rises for `warmup` steps and then falls, so it "
            f"needs more steps than those; received steps={recipe.steps} and warmup={recipe.warmup}."
        )
    claim(recipe, directory, resume)
    check_data(recipe, ("train", "valid"), data)
    from zoo.recipes import run

    return run.train(recipe, directory, data, resume, callbacks, log)


def open_run(directory):
    """(recipe, model, source tokenizer, target tokenizer) of a finished run; see `open_labels` for the rest.

    The target tokenizer is None where the model has one vocabulary.

    Raises:
        ValueError: the directory holds no finished run.
    """
    recipe = check_run(directory)
    from zoo.recipes import run

    return run.open_run(recipe, Path(directory))
