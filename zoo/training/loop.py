"""The training loop. Batches are a pure function of the step, so that a run can be continued from any step."""

import contextlib
import functools
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import keras
import numpy as np
from keras import ops

from zoo.core import array_files, devices
from zoo.training import checkpoints
from zoo.training.callbacks import Callbacks, Interrupted, callback_attributes, check_callbacks, interruptible
from zoo.training.checkpoints import Writer
from zoo.training.losses import summarise
from zoo.training.plan import TrainingState
from zoo.training.reports import open_reports
from zoo.training.shapes import Shapes


def checkpoint_path(directory):
    """The file that a run in `directory` can go on from; beside it is the one before, for when it is damaged."""
    return Path(directory) / "checkpoint" / "state.npz"


def _checkpoints(directory):
    """The files with states of the run in `directory`, the newest first."""
    paths = (checkpoint_path(directory).with_name(f"{name}.npz") for name in ("next", "state", "before"))
    return [path for path in paths if path.is_file()]


def saved_step(directory):
    """The step from which the run in `directory` can be continued; 0 if it has no checkpoint, or none that is whole."""
    for path in _checkpoints(directory):
        with contextlib.suppress(checkpoints.DamagedError):
            return checkpoints.read_state(path)["step"]
    return 0


def validate(evaluate, batches):
    """Per-token {"nll", "perplexity", "accuracy"} over all of `batches`, summed in float64."""
    totals = np.zeros(3)
    for batch in batches:
        totals += np.asarray(evaluate(batch), dtype="float64")
    return summarise(*totals)


def fit(steps, train, valid, plan, directory, resume=False, callbacks=(), score=None):
    """Train the model of `steps` in place and write checkpoints and logs to `directory`.

    A checkpoint is copied to the host, and a thread writes it while the training goes on, one at a time.

    After Ctrl-C the current step is finished and saved, and `Interrupted` is raised with the step from which a call
    with `resume` continues.

    Args:
        steps: the compiled steps of a model, see `zoo.training.make_steps`.
        train: an object with a pure function `batch(step)` that returns a dict of NumPy arrays. The arrays have a
            bounded number of shapes. A thread calls it, ahead of the step (`TrainingPlan.prefetch`).
        valid: an iterable of such batches that can be iterated over any number of times.
        plan: the `TrainingPlan`.
        directory: the run directory; see `checkpoint_path`, `zoo.training.reports`.
        resume: continue from the directory's checkpoint, if there is one; if it is damaged, from the one before, with
            a message. The resulting weights are those of an uninterrupted run, bit for bit on the same CPU backend.
        callbacks: `keras.callbacks.Callback`s. Each validation ends an epoch (`zoo.training.callbacks`). The state of
            the callbacks is not part of the checkpoint.
        score: called after each validation, when the model has its current weights; returns more scores, as a dict of
            numbers, such as the "wer" that a plan may monitor.

    Returns:
        The `TrainingState`. The model has the weights of its last step.

    Raises:
        FloatingPointError: the loss is not finite; no step since the last report was saved.
        Interrupted: Ctrl-C was pressed.
        OSError: a checkpoint could not be written; it is raised when the next one is due, or at the end.
        DamagedError: both checkpoints are damaged.
        ValueError: they do not fit the model; or as of `check_callbacks`.
    """
    check_callbacks(callbacks)
    state, notes = _restore(steps, directory) if resume else (TrainingState(), [])
    Path(directory).mkdir(parents=True, exist_ok=True)
    opening = open_reports(directory, plan.steps) if devices.leads() else contextlib.nullcontext(())
    with devices.explain_loss(), opening as reports, callback_attributes(steps) as model, interruptible() as interrupt:
        callbacks = Callbacks([*reports, *callbacks], model, plan)
        try:
            _Loop(steps, state, plan, Path(directory), callbacks, interrupt).run(train, valid, score, notes)
        except Interrupted:
            raise
        except KeyboardInterrupt:  # the second Ctrl-C: this step was not saved, only an earlier one
            raise Interrupted(saved_step(directory), plan.steps) from None
    steps.sync()
    devices.together("the training has ended")  # next, every process reads what one has written
    return state


def _restore(steps, directory):
    """(the `TrainingState` of the newest checkpoint that is whole, messages about damaged ones)."""
    damaged = {}
    for path in _checkpoints(directory):
        try:
            progress, best = checkpoints.restore(path, steps.model, steps.optimizer)
        except checkpoints.DamagedError as error:
            message = str(error).rstrip(".")
            damaged[path] = f"{message}. The training goes on from the checkpoint before it, and this one is removed."
            continue
        steps.reload()
        if damaged:
            devices.together("every process has read the checkpoint")
            for path in damaged if devices.leads() else ():
                path.unlink()
        return TrainingState(**progress, weights=best), damaged.values()
    if damaged:
        names = " and ".join(map(str, damaged))
        raise checkpoints.DamagedError(
            f"the run in {directory} cannot be continued, because {names} cannot be read. Bring one of them back as it "
            "was written, or choose another --out and begin anew."
        )
    return TrainingState(), []


class _Loop:
    """One call of `fit`."""

    def __init__(self, steps, state, plan, directory, callbacks, interrupt):
        self.steps, self.state, self.plan, self.directory = steps, state, plan, directory
        self.callbacks, self._interrupt = callbacks, interrupt
        self._window, self._logs, self._epoch, self._saved = _Window(), {}, None, None
        self._writer = Writer()

    def run(self, train, valid, score, notes=()):
        state, plan = self.state, self.plan
        shapes = Shapes(self.steps, train)
        self.callbacks.on_train_begin({"step": state.step, "message": "\n".join([*notes, shapes.describe()])})
        with contextlib.closing(Prefetcher(train, plan.prefetch, plan.steps)) as batches, self._writer:
            while True:
                stopping = self.steps.model.stop_training and state.step and not state.validated
                if state.is_due(plan) or stopping:
                    self._validate(valid, shapes, score)
                if state.is_over(plan) or self.steps.model.stop_training:
                    break
                self._update(batches.batch(state.step), shapes)
        self.callbacks.on_train_end(self._logs)

    def _begin_epoch(self):
        if self._epoch is None:
            self._epoch, self._first = len(self.state.history), self.state.step
            self.callbacks.on_epoch_begin(self._epoch, {})

    def _update(self, batch, shapes):
        """One step, followed by the reports and the checkpoint that are due after it, but not by a validation."""
        state, plan, steps = self.state, self.plan, self.steps
        self._begin_epoch()
        number, announcement = state.step - self._first, shapes.announce(batch)
        self.callbacks.on_train_batch_begin(number, announcement)
        loss = steps.train(batch)
        self._window.add(loss, batch["weights"].sum())
        state.step += 1
        logs = {"loss": loss, **shapes.describe_first_step(loss)} if announcement else {"loss": loss}
        saving = state.step % plan.checkpoint_every == 0 and not state.is_due(plan)
        if saving or state.is_due(plan) or state.step % plan.log_every == 0:
            logs |= self._summarise() | {"learning_rate": steps.learning_rate()}
        self.callbacks.on_train_batch_end(number, logs)
        if saving:
            self._save()
        self._stop_if_interrupted()

    def _summarise(self):
        """End the current window of steps and return its {"mean_loss", "tokens_per_second"}."""
        values, losses, seconds = self._window.summarise(self.state.step)
        self.state.seconds += seconds
        self.state.losses = [self.state.losses[0] + sum(losses), self.state.losses[1] + len(losses)]
        self._window = _Window()
        return values

    def _validate(self, valid, shapes, score):
        """A validation, which ends an epoch: the weights, if they are among the best, and a checkpoint are written."""
        state, steps, callbacks = self.state, self.steps, self.callbacks
        self._begin_epoch()
        if self._window.losses:
            self._summarise()
        callbacks.on_test_begin({"message": "validating"})
        with use_averages(steps):
            scores = validate(steps.evaluate, self._validation_batches(valid, shapes))
            steps.sync()
            scores |= score() if score else {}
            callbacks.on_test_end({"loss": scores["nll"], **scores})
            if state.record(scores, self.plan):
                state.weights[state.step] = checkpoints.get_weights(steps.model)
            state.weights = {step: state.weights[step] for _, step in state.best}
        total, count = state.losses
        self._logs = {"step": state.step, "learning_rate": steps.learning_rate(), "val_loss": scores["nll"]}
        self._logs |= {f"val_{name}": value for name, value in scores.items()}
        self._logs |= {"loss": total / count} if count else {}
        callbacks.on_epoch_end(self._epoch, self._logs)
        self._epoch, state.losses = None, [0.0, 0]
        self._save()
        self._stop_if_interrupted()

    def _validation_batches(self, valid, shapes):
        """The batches of a validation; after each of them Ctrl-C can end the training."""
        for number, batch in enumerate(valid):
            self.callbacks.on_test_batch_begin(number, shapes.announce(batch, "the validation of "))
            yield batch
            self.callbacks.on_test_batch_end(number, {})
            self._stop_if_interrupted()

    def _save(self):
        if self._saved == (self.state.step, len(self.state.history)):
            return
        self.steps.sync()
        # Every process takes a snapshot, because each may hold a part of a weight.
        arrays = checkpoints.snapshot(self.steps.model, self.steps.optimizer, self.state.progress(), self.state.weights)
        if devices.leads():
            self._writer.begin(functools.partial(_write, self.directory, arrays, self.plan.extra_files))
        self._saved = self.state.step, len(self.state.history)
        self._window = _Window()

    def _stop_if_interrupted(self):
        """After Ctrl-C, save this step and end. If a validation is due, `resume` begins with it."""
        if self._interrupt.is_set():
            if self._window.losses:
                self._summarise()  # raises where the loss is not finite, so that no such step is saved
            self._save()
            raise Interrupted(self.state.step, self.plan.steps)


class _Window:
    """The losses since the last report, for their mean and the speed. They stay on the device until `summarise`."""

    def __init__(self):
        self.losses, self._tokens, self._start = [], 0.0, time.monotonic()

    def add(self, loss, tokens):
        self.losses.append(loss)
        self._tokens += float(tokens)

    def summarise(self, step):
        """({"mean_loss", "tokens_per_second"}, losses, seconds)."""
        losses = [float(loss) for loss in self.losses]
        loss = float(np.mean(losses))
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss became {loss} in the {len(losses)} steps before step {step}. "
                "Lower the learning rate or the clipping norm, or lengthen the warm-up; then "
                "resume from the last checkpoint."
            )
        seconds = max(time.monotonic() - self._start, 1e-9)
        return {"mean_loss": loss, "tokens_per_second": self._tokens / seconds}, losses, seconds


def _write(directory, arrays, extra_files):
    """Write a checkpoint with files of the run; at any time there are two that are whole, if there were two."""
    files = (directory / name for name in extra_files)
    arrays |= {f"run/{file.name}": np.frombuffer(file.read_bytes(), "uint8") for file in files if file.is_file()}
    path = checkpoint_path(directory)
    upcoming = path.with_name("next.npz")
    array_files.save(upcoming, arrays)
    if path.is_file():
        os.replace(path, path.with_name("before.npz"))
    os.replace(upcoming, path)


@contextlib.contextmanager
def use_averages(steps):
    """A context in which the model has the moving averages of its weights, if its optimizer keeps them.

    `a_1 = w_1` after the first update, then `a_t = d a_{t-1} + (1 - d) w_t` with the optimizer's `ema_momentum` d. When
    the context ends, the model has the weights of the last update again, bit for bit.

    Args:
        steps: of `zoo.training.make_steps`.
    """
    pairs = _weights_and_averages(steps)
    if not pairs:
        yield
        return
    last_values = [ops.copy(weight.value) for weight, _ in pairs]
    for weight, average in pairs:
        weight.assign(average.value)
    steps.reload()
    try:
        yield
    finally:
        for (weight, _), value in zip(pairs, last_values, strict=True):
            weight.assign(value)
        steps.reload()


def _weights_and_averages(steps):
    """`(weight, its average)`, with the values of the last update; none before the first one."""
    optimizer = steps.optimizer
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        optimizer = optimizer.inner_optimizer
    if not optimizer.use_ema:
        return []
    steps.sync()
    if not int(optimizer.iterations):
        return []
    averages = optimizer._model_variables_moving_average
    pairs = zip(steps.model.trainable_variables, averages, strict=True)
    return [pair for pair in pairs if pair[1] is not None]


class Prefetcher:
    """The batches of a training, some of them ahead of their steps.

    A batch is a pure function of its step, so the numbers of a training do not depend on it.

    Args:
        batches: an object with `batch(step)`; one thread alone calls it.
        ahead: how many batches are prepared beside the one that is asked for; 0 prepares none.
        steps: the number of steps of the training; there is no batch behind its last one.
    """

    def __init__(self, batches, ahead, steps):
        self._batches, self._ahead, self._steps = batches, ahead, steps
        self._futures, self._pool = {}, ThreadPoolExecutor(1, thread_name_prefix="batches") if ahead else None

    def batch(self, step):
        """The batch of a step.

        Raises:
            Exception: what the preparation of this batch raised.
        """
        if self._pool is None:
            return self._batches.batch(step)
        needed = range(step, max(step + 1, min(step + 1 + self._ahead, self._steps)))
        self._futures = {each: future for each, future in self._futures.items() if each in needed}
        for each in needed:
            if each not in self._futures:
                self._futures[each] = self._pool.submit(self._batches.batch, each)
        return self._futures.pop(step).result()

    def close(self):
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
