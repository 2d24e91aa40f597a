"""How the training loop calls `keras.callbacks`, and how Ctrl-C ends a training between two steps.

`model.fit` counts epochs; this loop counts updates and validations. To a callback, an epoch is the time from one
validation to the next:

| call | when | logs |
|---|---|---|
| `on_train_begin`, `on_train_end` | once | at the beginning `step`, at the end the logs of the last epoch |
| `on_epoch_begin(epoch)` | before the first update of an epoch, counted from 0 over the whole run | |
| `on_train_batch_begin`, `on_train_batch_end(batch)` | around an update, counted within the epoch | `loss`, a scalar on the device: reading it waits for the device; every `log_every` updates `mean_loss`, `learning_rate` and `tokens_per_second`, too |
| `on_test_begin`, `on_test_batch_begin`, `on_test_batch_end`, `on_test_end` | around a validation and around each of its batches | at the end `loss`, `nll`, `perplexity`, `accuracy` |
| `on_epoch_end(epoch)` | after a validation | `step`, `loss`, `learning_rate`, `val_loss` (the nll), `val_nll`, `val_perplexity`, `val_accuracy` |
"""  # noqa: E501

import contextlib
import os
import signal
import sys
import threading

import keras

PROTOCOL = (
    "on_train_begin on_train_end on_epoch_begin on_epoch_end on_train_batch_begin on_train_batch_end "
    "on_test_begin on_test_end on_test_batch_begin on_test_batch_end"
).split()


def check_callbacks(callbacks):
    """Check that a training can call all of them.

    Raises:
        ValueError: they are no list, an object in it is not a callback, or is a `BackupAndRestore`: the loop writes
            checkpoints itself.
    """
    if not isinstance(callbacks, list | tuple):
        raise ValueError(f"callbacks must be a list, such as [EarlyStopping()]. Received: {callbacks!r}.")
    for callback in callbacks:
        if not isinstance(callback, keras.callbacks.Callback):
            raise ValueError(f"callbacks must be keras.callbacks.Callback objects. Received: {callback!r}.")
        if isinstance(callback, keras.callbacks.BackupAndRestore):
            raise ValueError(
                "BackupAndRestore is for model.fit: here it would restore the model but not the step at which the loop "
                "is. The loop writes its own checkpoints; leave the callback out and call fit with resume=True."
            )


class Callbacks:
    """Calls the `keras.callbacks.Callback`s of a list one after the other and passes the logs on unchanged.

    `keras.callbacks.CallbackList` is not used, because it converts every value of the logs to a number, and so would
    wait for the device in each step.
    """

    def __init__(self, callbacks, model, plan):
        self.callbacks = list(callbacks)
        for callback in self.callbacks:
            callback.set_params({"epochs": plan.validations, "steps": plan.validate_every, "verbose": 0})
            callback.set_model(model)

    def __getattr__(self, name):
        if name not in PROTOCOL:
            raise AttributeError(name)

        def call(*args):
            for callback in self.callbacks:
                getattr(callback, name)(*args)

        return call


@contextlib.contextmanager
def callback_attributes(steps):
    """A context in which the model has the attributes that callbacks use: `optimizer`, `stop_training` and, for JAX,
    `jax_state_sync`.

    They are set without the tracking of Keras and TensorFlow, because they are not part of the model; at the end they
    are removed, or have their earlier values again.
    """
    model, missing = steps.model, object()
    attributes = {"optimizer": steps.optimizer, "stop_training": False, "jax_state_sync": steps.sync}
    before = {name: vars(model).get(name, missing) for name in attributes}
    for name, value in attributes.items():
        object.__setattr__(model, name, value)
    try:
        yield model
    finally:
        for name, value in before.items():
            if value is missing:
                object.__delattr__(model, name)
            else:
                object.__setattr__(model, name, value)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a training. `step` is the step from which it can be continued, `steps` the last step of its plan."""

    def __init__(self, step: int, steps: int) -> None:
        super().__init__(
            f"interrupted; the run is saved at step {step:,} of {steps:,}. Continue it with resume=True."
            if step
            else "interrupted before the first step; nothing of the training was saved. Begin again."
        )
        self.step, self.steps = step, steps


def _file_descriptor(stream):
    """The file descriptor of a stream, or 2 if the stream has none."""
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return 2


@contextlib.contextmanager
def interruptible():
    """A context, which yields an event: the first Ctrl-C sets the event, the second raises `KeyboardInterrupt`.

    Outside the main thread, or if the program has its own handler of the signal, Ctrl-C does what it did before.
    """
    stop_requested = threading.Event()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield stop_requested
        return

    terminal = _file_descriptor(sys.stderr)

    def handle(signum, frame):
        if stop_requested.is_set():
            raise KeyboardInterrupt
        stop_requested.set()
        # Not `print`: the signal may have interrupted a call of it.
        os.write(terminal, b"\nCtrl-C: the step is finished and saved first; press it again to stop at once.\n")

    signal.signal(signal.SIGINT, handle)
    try:
        yield stop_requested
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
