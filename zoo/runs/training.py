"""How a recipe is trained in its run folder, and how a run is opened; `zoo.runs.start` has checked both."""

import dataclasses
import math
import shutil
import sys
import time
import zipfile

import keras
from msgspec import structs

from zoo import training
from zoo.core import devices as many
from zoo.core.escaping import in_line
from zoo.core.storage import save_model, write_atomically, write_bytes, write_json, write_text
from zoo.models import Ensemble
from zoo.recipes import evaluations, folder
from zoo.recipes.card import describe, find_untaught, mend_labels
from zoo.recipes.checkpoint import RECIPE, read_file
from zoo.recipes.files import dumps
from zoo.runs.takeover import choose_trained, describe_takeover, prepare_takeover, rate_factors
from zoo.settings.layers import AdaptiveSpan, ProductKey
from zoo.settings.training import CosineLoss, DepthLoss, NumberLoss, RankingLoss, TokenLoss
from zoo.tasks.parts import answering, corpora
from zoo.tasks.parts.building import build_model
from zoo.tasks.parts.task import Run
from zoo.text import load_tokenizer
from zoo.training.selection import merge_adapters


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a training sees: `tokenizers`, `labels`, and batches.

    `examples` are those of the validation, `card` describes the corpus (`zoo.data.formats.card`), with the sha256 of
    training and validation, and `notes` are sentences about it for the user.
    """

    tokenizers: tuple
    labels: tuple[str, ...]
    train: object
    valid: object
    examples: tuple[list, list]
    card: dict
    notes: tuple[str, ...]

    @property
    def sizes(self):
        """The sizes of the vocabularies, and of the labels if there are any, which a task needs to make its model."""
        labels = (len(self.labels),) if self.labels else ()
        return tuple(tokenizer.vocab_size for tokenizer in self.tokenizers) + labels


def make_parts(recipe, directory=None, tokenizers=None):
    """Read the corpus, learn labels and (unless they are given) vocabularies of its training split, make batches."""
    task, train_examples = recipe.job, corpora.training_file(recipe, recipe.job.kind_of(recipe), directory)
    splits = {split: task.examples(recipe, split, directory, train_examples) for split in ("train", "valid")}
    splits = mend_labels(task, recipe, splits | _test_split(recipe, directory, train_examples))
    examples, valid_examples = ((splits[name].inputs, splits[name].answers) for name in ("train", "valid"))
    tokenizers = tokenizers or task.tokenizers(recipe, *examples)
    labels = task.labels(recipe, [*examples[1], *valid_examples[1]])  # only the validation may have a rare one
    train = task.batches(recipe, tokenizers, labels, examples, training=True)
    valid = task.batches(recipe, tokenizers, labels, valid_examples)
    card, notes = describe(splits, recipe.data)
    card["untaught"] = find_untaught(task, recipe, splits)
    notes += card["untaught"]
    card["sha256"] = {"train": corpora.digest(*examples), "valid": corpora.digest(*valid_examples)}
    return Parts(tokenizers, labels, train, valid, valid_examples, card, tuple(notes))


def _test_split(recipe, directory, train_examples):
    """`{"test": Examples}` of files of one's own, so that notes about them, as on overlaps, come before training."""
    if recipe.data.corpus != "files":
        return {}
    try:
        return {"test": recipe.job.examples(recipe, "test", directory, train_examples)}
    except ValueError:  # there is none yet, or it is damaged, which matters only when it is scored
        return {}


def make_optimizer(recipe):
    """Adam on the recipe's schedule, clipped by the global norm; its weight decay leaves biases and norms alone.

    Gradients in float16 are scaled, so that small ones are not lost.

    The values of a product-key memory are updated where they were read, at a rate of their own (`RowAdam`). Factors of
    the rates of single weights are set where the weights are known (`make_training_steps`).
    """
    settings = recipe.training
    rate = training.schedule(settings.schedule, settings.learning_rate, settings.warmup, settings.steps)
    options = {
        "beta_2": settings.adam_beta_2,
        "weight_decay": settings.weight_decay or None,
        "global_clipnorm": settings.clip_norm or None,
    }
    if settings.ema:
        options |= {"use_ema": True, "ema_momentum": settings.ema}
    if isinstance(recipe.feedforward, ProductKey):
        optimizer = training.RowAdam(rate, row_learning_rate=settings.row_learning_rate, **options)
    else:
        factored = settings.rates or settings.layer_decay < 1
        optimizer = (training.FactorAdam if factored else keras.optimizers.Adam)(rate, **options)
    if settings.weight_decay:
        optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    return keras.optimizers.LossScaleOptimizer(optimizer) if settings.precision == "mixed_float16" else optimizer


def make_loss(recipe):
    """The training loss."""
    settings = recipe.loss
    if isinstance(settings, DepthLoss):
        exits = {name: getattr(settings, name) for name in ("oracle", "price", "width", "alpha")}
        return training.DepthAdaptiveLoss(**exits, smoothing=settings.label_smoothing)
    if isinstance(settings, CosineLoss | NumberLoss):
        return training.squared_error
    if isinstance(settings, RankingLoss):
        return training.SmoothedCrossEntropy()
    if isinstance(settings, TokenLoss) and settings.chunks > 1:
        return training.ChunkedCrossEntropy(settings.chunks, settings.label_smoothing)
    return training.SmoothedCrossEntropy(settings.label_smoothing)


def make_training_steps(recipe, model):
    """The steps of `zoo.training.make_steps`; with adaptive spans, steps that compute only what the spans reach."""
    adaptive = isinstance(recipe.attention, AdaptiveSpan)
    optimizer = make_optimizer(recipe)
    steps = (training.SpanSteps if adaptive else training.make_steps)(
        model, optimizer, make_loss(recipe), recipe.training.parts
    )
    if by_weight := rate_factors(recipe, model):
        inner = optimizer.inner_optimizer if recipe.training.precision == "mixed_float16" else optimizer
        inner.set_factors(by_weight)
    return steps


def make_plan(recipe):
    """How long to train and how often to look."""
    settings = structs.asdict(recipe.training)
    settings |= {"keep": recipe.training.average, "extra_files": folder.extra_files(recipe)}
    return training.TrainingPlan(
        **{field.name: settings[field.name] for field in dataclasses.fields(training.TrainingPlan)}
    )


def train(recipe, directory, data=None, resume=False, callbacks=(), log=None, initial=None, devices=None):
    """See `zoo.runs.train`, which has checked what it is given."""
    start = time.monotonic()
    log = log or (_print if many.leads() else len)
    layout = many.start(devices, recipe.training)
    if layout:
        log(layout)
    if recipe.training.precision == "mixed_bfloat16" and many.backend() == "tensorflow" and many.on_a_processor():
        log("mixed_bfloat16 is no faster than float32 on TensorFlow and a processor; on JAX it is (KERAS_BACKEND=jax)")
    takeover = prepare_takeover(recipe, initial)
    earlier = directory if resume is True else resume
    tokenizers = (takeover and takeover.keep_tokenizers(recipe)) or (earlier and _load_tokenizers(recipe, earlier))
    log("reading the data" if tokenizers else "reading the data and learning the vocabularies")
    parts = make_parts(recipe, data, tokenizers)
    if earlier:
        folder.check_same_data(earlier, parts.card)
    for note in (*parts.notes, *_describe_cuts(recipe, parts)):
        log(note)
    log("building the model")
    model = build_with_precision(recipe, parts.sizes, recipe.training.precision)
    record = takeover and takeover.take(recipe, model, parts.tokenizers, parts.labels)
    if record:
        recipe.job.begin(recipe, model, record["taken"])
        log(describe_takeover(record, recipe.training.vocabulary == "keep"))
    recipe.job.prepare(recipe, model, parts.tokenizers)
    answering.check_lengths(recipe, model, {"training": parts.train, "validation": parts.valid})
    answering.check_written_lengths(recipe, model)
    for note in answering.describe_lengths(recipe, model):
        log(note)
    adapted, frozen = choose_trained(recipe, model, takeover)
    if adapted or frozen:
        log(describe_trained(model, adapted))
    steps = make_training_steps(recipe, model)
    if many.leads():
        if resume and resume is not True:
            _copy_checkpoint(resume, directory)
        _write_files(recipe, directory, parts, record)
    many.together("the run folder is made")

    plan = make_plan(recipe)
    score = _score_alone(recipe.job.make_monitor(recipe, model, parts.tokenizers, parts.labels, parts.examples))
    state = training.fit(steps, parts.train, parts.valid, plan, directory, bool(resume), callbacks, score)
    log("choosing between the best weights and their average")

    def measure():
        return training.validate(steps.evaluate, parts.valid) | (score() if score else {})

    # A count of wrong outputs is too coarse to tell an average from one of its parts: the loss tells them apart.
    finer = training.MONITORS["nll" if plan.monitor == "wer" else plan.monitor]
    scores = _choose_weights(steps, measure, state, finer)
    training.thaw(model, frozen)
    if layout or adapted or recipe.training.precision != "float32":
        weights = {path: many.whole(weight.value) for path, weight in training.named_weights(model).items()}
        weights = merge_adapters(weights)
        with many.apart():
            model = build_with_precision(recipe, parts.sizes, "float32")
            recipe.job.prepare(recipe, model, parts.tokenizers)
            for path, weight in training.named_weights(model).items():
                weight.assign(weights.pop(path))
    many.together("the weights are chosen")
    summary = _summarize(recipe, model, parts) | {
        "steps": state.step,
        "valid": scores,
        "init": record,
        "frozen": frozen,
        "lora": {"rank": recipe.training.lora, "layers": adapted} if adapted else None,
        "training_seconds": round(state.seconds, 1),
    }
    if not many.leads():
        return summary
    run = Run(recipe, model, parts.tokenizers, parts.labels)
    with many.apart():  # the other processes have left
        calibration = recipe.job.calibrate(run, parts.examples)
        threshold = recipe.job.threshold(run, parts.examples)
    if calibration:
        log(
            "the probabilities are scaled with the temperature {temperature:.2f}: their calibration error on the "
            "validation goes from {calibration_error_before:.3f} to {calibration_error:.3f}".format(**calibration)
        )
        if "balance" in calibration:
            log(
                "the logit of {label} is changed by {added:+.1f}, with which the entity F1 of the validation goes from "
                "{entity_f1_before:.2f} to {entity_f1:.2f}".format(**calibration["balance"])
            )
        summary |= {"calibration": calibration}
    before = folder.read_json(directory, folder.SUMMARY)
    if before and before["steps"] != state.step:
        evaluations.forget(directory)  # the answers of the former model
    save_model(model, directory / "model.keras")
    if threshold is not None:
        scope = {"label": recipe.scope.label, "threshold": threshold}
        write_json(directory / folder.SCOPE, scope)
    summary |= {"seconds": round(time.monotonic() - start, 1)} | ({} if threshold is None else {"threshold": threshold})
    write_json(directory / folder.SUMMARY, summary)
    return summary


def describe_trained(model, adapted):
    """How many numbers are trained, in a line."""
    trained, total = (
        sum(math.prod(weight.shape) for weight in weights) for weights in (model.trainable_weights, model.weights)
    )
    line = f"{trained:,} of {total:,} weights are trained ({trained / total:.1%})"
    return f"{line}, those of adapters for {len(adapted)} layers among them" if adapted else line


def build_with_precision(recipe, sizes, precision):
    """The model of a recipe, whose layers compute in a precision; `sizes` as of `Parts`."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        return build_model(recipe.job, recipe, *sizes)
    finally:
        keras.config.set_dtype_policy(before)


def _score_alone(score):
    """`score`, computed without splitting its inputs among devices; None if `score` is None."""

    def score_apart():
        with many.apart():
            return score()

    return score and score_apart


def _describe_cuts(recipe, parts):
    """Notes about texts that are too long: left out of the training, or read in part."""
    if parts.train.dropped:
        most = recipe.training.max_length
        yield f"{parts.train.dropped:,} training examples are left out: longer than training.max_length={most} tokens"
    for name, batches in (("training", parts.train), ("validation", parts.valid)):
        if batches.cut:
            most = recipe.text.max_input_length
            yield f"{batches.cut:,} {name} texts are read up to text.max_input_length={most} tokens"


def _load_tokenizers(recipe, earlier):
    """The tokenizers of a run that goes on; None if its folder does not have them yet."""
    files = [read_file(earlier, name) for name in folder.tokenizer_names(recipe)]
    return None if None in files else tuple(map(load_tokenizer, files))


def _copy_checkpoint(checkpoint, directory):
    """Copy a checkpoint of another folder, and the metrics that lie beside it, into a run folder."""
    with open(checkpoint, "rb") as file:
        write_atomically(training.checkpoint_path(directory), lambda copy: shutil.copyfileobj(file, copy))
    metrics = read_file(checkpoint, folder.METRICS)
    if metrics is not None:
        write_bytes(directory / folder.METRICS, metrics)


def _write_files(recipe, directory, parts, record):
    """Write the files that a run begins with: recipe, vocabularies, data card, labels, and the record of a takeover."""
    directory.mkdir(parents=True, exist_ok=True)
    write_text(directory / RECIPE, dumps(recipe))
    for name, tokenizer in zip(folder.tokenizer_names(recipe), parts.tokenizers, strict=True):
        tokenizer.save(directory / name)
    write_json(directory / folder.CARD, parts.card)
    if parts.labels:
        write_json(directory / folder.LABELS, parts.labels)
    if record:
        write_json(directory / folder.RECORD, record)


def _summarize(recipe, model, parts):
    """The part of training.json that describes the model and its data."""
    return {
        "recipe": recipe.name,
        "parameters": model.count_params(),
        "vocabularies": [tokenizer.vocab_size for tokenizer in parts.tokenizers],
        "labels": len(parts.labels),
        "shapes": [list(map(int, shape)) for shape in parts.train.shapes],
        "dropped": parts.train.dropped,
        "cut": {"train": parts.train.cut, "valid": parts.valid.cut},
        "data_sha256": parts.card["sha256"]["train"],
        "backend": keras.backend.backend(),
        "keras": keras.__version__,
    }


def _print(line):
    print(in_line(line), file=sys.stderr, flush=True)


def _choose_weights(steps, measure, state, loss):
    """Give the model its final weights, the average of the best or the best; returns their validation scores.

    `measure()` gives the scores of the weights that the model has. If nothing was validated, the weights of the last
    step stay.
    """
    if not state.best:
        return measure() | {"averaged": 0}
    weights = [state.weights[step] for _, step in state.best]
    training.average(weights, steps.model)
    steps.reload()
    scores = measure() | {"averaged": len(weights)}
    best = next(row for row in state.history if row["step"] == state.best[0][1])
    if loss(best) < loss(scores):
        training.set_weights(steps.model, weights[0])
        return {key: value for key, value in best.items() if key != "step"} | {"averaged": 1}
    return scores


def make_ensemble(runs):
    """The `Run` whose model is the ensemble of theirs."""
    model = Ensemble([run.model for run in runs])
    model.build()
    return dataclasses.replace(runs[0], model=model)


def open_run(recipe, directory):
    """See `zoo.runs.open_run`, which has checked what it is given."""
    path = directory / "model.keras"
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is damaged: expected a file that Keras has saved. Copy the run again, or train it again."
        )
    model = keras.models.load_model(path, compile=False)
    tokenizers = tuple(load_tokenizer(directory / name) for name in folder.tokenizer_names(recipe))
    labels = folder.read_labels(directory) if recipe.job.labelled else ()
    threshold = folder.read_threshold(directory) if folder.has_threshold(recipe) else None
    return Run(recipe, model, tokenizers, labels, threshold=threshold)
